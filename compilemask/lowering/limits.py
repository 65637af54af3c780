"""How large a bound mask may become. Every limit is checked before memory is taken, and answered with a diagnostic."""

from __future__ import annotations

MAX_AXIS = 2**31 - 1
"""Tokens of one axis; kernels index keys with int32."""

MAX_INSTANCES = 2**20
"""Instances of one region, over all repetitions."""

MAX_LIST = 2**22
"""Elements of one int[] value."""

MAX_RUNS = 2**22
"""Trapezoids of one set of cells, at any point of the lowering."""

MAX_CELLS = 2**26
"""Pairs that one condition may be tried on, when no closed form is known."""

MAX_TABLE = 2**24
"""Entries of one table of a condition, and tokens of a region whose numbers are written out one by one."""

MAX_NUMBER = 2**60
"""Every intermediate number of an expression stays below this magnitude, so that int64 never wraps."""

MAX_OPERATIONS = 2**10
"""Operations of one expression, those of `abs` counted twice over, since it is the greater of two numbers."""

UNBOUNDED = 2**61
"""Stands for an absent end of a band of values."""

MAX_WORK = 2**27
"""Numbers written out, pairs tried and interval ends sorted, over all conditions of one mask."""

MAX_BATCH_CELLS = 2**20
"""Items times heads of one batch."""

MAX_BATCH_MASKS = 2**12
"""Different values of items and heads in one batch; each gives a mask that is lowered by itself."""

MAX_ANALYSED_MASKS = 64
"""Different masks of a batch that tools look at for messages; binding looks at all of them."""

MAX_PAIRS_OF_REGIONS = 2**13
"""Query regions times key regions, over all rules of one mask; each pair is lowered by itself."""

CHUNK = 2**20
"""Pairs looked at together; bounds the memory of a pass, not its result."""
