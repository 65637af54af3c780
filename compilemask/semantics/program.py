"""The checked form of a mask text: names resolved, types known, parameters still symbolic.

Trees of frozen nodes. Every node that a message may point at carries its `Span`. Nothing here knows characters or
numbers of a binding: `compilemask.lowering` gives the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal

from compilemask.diagnostics import Span
from compilemask.semantics.relation_program import Ancestor as Ancestor
from compilemask.semantics.relation_program import Member as Member
from compilemask.semantics.relation_program import Near as Near

if TYPE_CHECKING:
    from compilemask.semantics.mask_program import Allowance, Assertion, MaskExpression

Side = Literal["q", "k"]


class ParameterType(Enum):
    INT = "int"
    BOOL = "bool"
    INT_LIST = "int[]"
    BOOL_LIST = "bool[]"
    INT_TABLE = "int[][]"
    BOOL_TABLE = "bool[][]"

    @property
    def depth(self) -> int:
        """How many brackets pick one number: 0, 1 or 2."""
        return self.value.count("[]")

    @property
    def is_bool(self) -> bool:
        """Whether it is, or holds, true and false."""
        return self.value.startswith("bool")


PER_TYPES = {
    ParameterType.INT: ParameterType.INT_LIST,
    ParameterType.BOOL: ParameterType.BOOL_LIST,
    ParameterType.INT_LIST: ParameterType.INT_TABLE,
    ParameterType.BOOL_LIST: ParameterType.BOOL_TABLE,
}
"""The types that can be given per item or per head, and the type of such a list of values."""

Value = int | bool | tuple[int, ...] | tuple[tuple[int, ...], ...]
"""A value of a parameter; the rows of a table may differ in length, and bool lists hold bool."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the mask. `default` is None when a value must be given at bind.

    doc: the documentation comment that stands before or behind it, or "".
    minimum, maximum: the least and greatest number that it takes, both allowed; None without a limit. Of a list: of
    every number in it. per: set when the value may differ between the items of a batch, or between its query heads.
    """

    name: str
    type: ParameterType
    default: Value | None
    doc: str
    span: Span
    minimum: int | None = None
    maximum: int | None = None
    per: Literal["item", "head"] | None = None


# ---------------------------------------------------------------- integer expressions


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """An int parameter, used as a number."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Element:
    """`lengths[index]` of a list, or `answers[row][index]` of a table; true is 1 and false is 0. row: None for a list."""

    name: str
    index: Expression
    span: Span
    row: Expression | None = None


@dataclass(frozen=True, slots=True)
class ListFold:
    """`len(lengths)`, `sum(lengths)`, `min(lengths)`, `max(lengths)` of an int[] parameter; `len` of any list or table;
    `sum` of an int[][] parameter, which adds all of its numbers.

    row: of one row of a table, `len(answers[row])`; None for a whole list or table, of which `len` is the number of rows.
    """

    fold: Literal["len", "sum", "min", "max"]
    name: str
    span: Span
    row: Expression | None = None


@dataclass(frozen=True, slots=True)
class InstanceIndex:
    """An index variable (`i`) of a repeated region: the number of the instance, from 0.

    In a rule it names a variable of `Rule.queries[*].indices` or `Rule.keys[*].indices`;
    in a region's size it names the index of that region or of a region around it.
    """

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Position:
    """`q`, `k` (frame "axis": absolute on its axis) or `q.pos`, `k.pos` (frame "region": inside its innermost instance)."""

    side: Side
    frame: Literal["axis", "region"]
    span: Span


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A grid coordinate of a position: `q.y`. `axis` counts from the outermost (0) of the region's grid.

    `dy` is checked into Binary("-", k.y, q.y).
    """

    side: Side
    axis: int
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """Exact integer arithmetic; `//` rounds down and `%` takes the sign of the divisor, as in Python."""

    operator: Literal["+", "-", "*", "//", "%"]
    left: Expression
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Negate:
    operand: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """`min(a, b, ...)`, `max(a, b, ...)`, `abs(a)` of numbers."""

    function: Literal["min", "max", "abs"]
    arguments: tuple[Expression, ...]
    span: Span


Expression = (
    Number | ParameterValue | Element | ListFold | InstanceIndex | Position | Coordinate | Binary | Negate | Call
)

# ---------------------------------------------------------------- conditions


@dataclass(frozen=True, slots=True)
class Compare:
    """One comparison; a chain `a <= b < c` is checked into an All of two."""

    operator: Literal["<", "<=", "==", "!=", ">=", ">"]
    left: Expression
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Causal:
    """No key later than the query.

    align None: one shared axis, k <= q. "start": k.pos <= q.pos counted from the start of both regions.
    "end": counted from their ends, k.pos - len(k region) <= q.pos - len(q region).
    """

    align: Literal["start", "end"] | None
    span: Span


@dataclass(frozen=True, slots=True)
class SamePosition:
    """q.pos == k.pos (with align "end": counted from the ends of both regions)."""

    align: Literal["start", "end"] | None
    span: Span


@dataclass(frozen=True, slots=True)
class Flag:
    """A bool parameter, or a literal true / false."""

    value: str | bool
    span: Span


@dataclass(frozen=True, slots=True)
class Chosen:
    """An item of a bool list or table, as a condition: `selected[i][j]`."""

    element: Element
    span: Span


@dataclass(frozen=True, slots=True)
class All:
    items: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class AnyOf:
    items: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Not:
    """`not item`, or `except item`: excepted tells them apart, for messages."""

    item: Condition
    span: Span
    excepted: bool = False


Condition = Compare | Causal | SamePosition | Flag | Chosen | Ancestor | Member | Near | All | AnyOf | Not

# ---------------------------------------------------------------- regions and rules


@dataclass(frozen=True, slots=True)
class Stored:
    """The order in which a region's tokens are stored; conditions count as if there were none.

    tiles: tile after tile, sizes has the sides of a tile, outermost first. zigzag: sizes has the number of ranks.
    pages: `table` is an int[] parameter, sizes has the size of a page; the region's extent counts slots.
    """

    order: Literal["tiles", "zigzag", "pages"]
    sizes: tuple[Expression, ...]
    table: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Region:
    """A named stretch of a token axis.

    count: None for a single region, else the number of instances (`D[i]: lengths[i]` counts len(lengths),
    `N[i < blocks]` counts blocks); index: the name of its index variable, or None.
    counted_by: the lists and tables whose items are the instances (`D[i] { P: prefix[i]; T: rest[i] }`: prefix, rest).
    Empty when the count is written, as in `N[i < blocks]`. counts: their lengths, which must be equal at bind; the first
    is `count`.
    Exactly one of `extent` and `children` is non-empty. extent: 1 number (a length) or 2-3 (a row-major grid,
    outermost first). children: regions that repeat inside each instance, in order. unused: its places hold no token; no
    rule names it, or a region around it.
    """

    name: str
    index: str | None
    count: Expression | None
    extent: tuple[Expression, ...]
    children: tuple[Region, ...]
    doc: str
    span: Span
    counted_by: tuple[str, ...] = ()
    counts: tuple[ListFold, ...] = ()
    stored: Stored | None = None
    unused: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """One token axis: its regions in order, without gaps."""

    regions: tuple[Region, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RegionReference:
    """A region named in a rule. path: names from the outermost, as `("doc", "P")`; always ends at a region with an
    extent, or at one with children (then it means all of its tokens).

    indices: one entry per repeated region on the path: the variable's name. The same name on both sides of one rule
    means the same instance; a name used once ranges over all instances. Where the text names none (`D sees D`), the
    variable has a name of its own that no text can have: `#1`, `#2`, ... No name is twice in one reference.
    """

    path: tuple[str, ...]
    indices: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Rule:
    """`queries sees keys [condition]`: each query region sees each key region under the condition (None: always).

    doc: the documentation comment that stands before or behind it, or "".
    """

    queries: tuple[RegionReference, ...]
    keys: tuple[RegionReference, ...]
    condition: Condition | None
    span: Span
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """`example small(n = 64)`: named numbers that show the mask, part of the text."""

    name: str
    values: tuple[tuple[str, Value], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class CheckedMask:
    """A whole checked mask. `keys` is None when queries and keys share one `tokens` axis.

    composition: of a mask made of masks, which has neither regions nor rules of its own; else None.
    """

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    queries: Axis
    keys: Axis | None
    rules: tuple[Rule, ...]
    examples: tuple[Example, ...]
    source: str
    span: Span
    composition: MaskExpression | None = None
    assertions: tuple[Assertion, ...] = ()
    allowances: tuple[Allowance, ...] = ()
