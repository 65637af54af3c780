"""The messages about numbers: their stable codes, as `compilemask.semantics.codes` has those about texts."""

from __future__ import annotations

from typing import Final

from compilemask.lowering import limits
from compilemask.semantics.codes import Code

BIND_CODES: Final[tuple[Code, ...]] = (
    Code("CM401", "A parameter without a value", "A parameter that has no default needs a value at bind."),
    Code("CM402", "An unknown parameter", "The mask declares no parameter of this name. If one looks like it, it is named."),
    Code(
        "CM403",
        "A value of another type",
        "`int` takes one integer, `bool` takes true or false, `int[]` takes a sequence or a one-dimensional array of integers.",
    ),
    Code("CM404", "A negative size", "Lengths, extents and numbers of instances are 0 or more."),
    Code("CM405", "Too long", f"An axis has up to {limits.MAX_AXIS:,} tokens, a list up to {limits.MAX_LIST:,} numbers."),
    Code(
        "CM406",
        "Too many instances or lines",
        f"A region repeats up to {limits.MAX_INSTANCES:,} times. "
        f"Conditions on coordinates cut a grid into lines, up to {limits.MAX_TABLE:,}.",
    ),
    Code("CM407", "No such element", "Indices count from 0, do not wrap around, and end before the length of the list."),
    Code(
        "CM408",
        "A division by zero",
        "A divisor must not be 0 for any query or key of the rule's regions; other conditions of the rule do not guard it.",
    ),
    Code("CM409", "A number that is too great", "All arithmetic is exact, with numbers between -2^60 and 2^60."),
    Code(
        "CM410",
        "Too scattered",
        f"A set of cells has up to {limits.MAX_RUNS:,} runs. Masks of single scattered keys are larger than this quickly.",
    ),
    Code(
        "CM411",
        "No closed form",
        "Conditions that are not linear in the positions are written out or tried one by one: "
        f"up to {limits.MAX_TABLE:,} tokens of a region, and {limits.MAX_CELLS:,} pairs.",
    ),
    Code(
        "CM412",
        "Too much work",
        f"All conditions of a mask together take up to {limits.MAX_WORK:,} steps, "
        f"and all rules name up to {limits.MAX_PAIRS_OF_REGIONS:,} pairs of regions.",
    ),
    Code(
        "CM420",
        "Lists that differ in length",
        "Where several lists say how often a region repeats, they have equally many items, so that no item is left out.",
    ),
    Code(
        "CM421",
        "A window that does not fit",
        "`near` pushes its window inside at the border, so that the axis holds it whole. Kernel, dilation and stride are at "
        "least 1, and a stride is at most the kernel. Where two instances meet, they have one size along the axis.",
    ),
    Code(
        "CM422",
        "Not a tree",
        "A list of parents gives each node a node before it, or -1 for a root, so that there are no circles.",
    ),
    Code(
        "CM423",
        "Tokens that cannot be stored so",
        "Zigzag cuts a region into equal chunks, two for each rank, so that its length is a multiple of twice the ranks. Pages are numbered from 0, lie inside the slots, and none "
        "stands twice. Tiles, ranks and pages are at least 1.",
    ),
    Code("CM430", "Masks of different sizes", "Masks are joined cell by cell, so that all of them have equally many queries and equally many keys."),
    Code("CM440", "Outside of its range", "The parameter is declared with a range, `n: int in 1..4096`, and takes the numbers in it, both ends included."),
    Code("CM441", "Another number of items or heads", "All lists with one value per item have equally many values, one or more; so have all lists per head. A single value is for all."),
    Code("CM511", "Queries that see nothing", "Their attention output is 0. Padding is meant to be so; other queries seldom are."),
    Code("CM512", "Keys that nobody sees", "They change nothing. Padding is meant to be so; other keys seldom are."),
    Code("CM513", "A rule that matches nothing", "With these numbers the rule makes no cell visible, though its regions have tokens. Of a batch: in none of its masks."),
    Code("CM514", "A rule that adds nothing", "With these numbers other rules, which the message names, show all of its cells. Rules add up, so the rule changes nothing. Of a batch: in none of its masks."),
    Code("CM515", "Masks in different orders", "Masks are joined cell by cell, where their tokens are stored. One of these stores its tokens in another order than the first one."),
    Code("CM601", "A later key", "The text asserts `causal`, and a query sees a key that comes after it, in the order in which the text counts its tokens."),
    Code("CM602", "A query that sees nothing", "The text asserts `every query sees a key`."),
    Code("CM603", "A key that nobody sees", "The text asserts `every key is seen`."),
    Code("CM604", "A cell that should be hidden", "The text asserts that some regions never see others, and one does: a leak."),
    Code("CM605", "A cell that should be visible", "The text asserts that some regions see all of others."),
    Code("CM606", "Another number of visible cells", "The text asserts something about `visible` or `density`, and the exact number is another."),
    Code("CM607", "Not the same mask", "The text asserts that it equals other masks, and a cell or the size differs."),
    Code(
        "CM520",
        "Instances without a partner",
        "The same variable on both sides means the same instance, and one side has instances that the other has not. "
        "They take no part in the rule. A last question without an answer is meant to be so; a list that is too short is not.",
    ),
    Code("CM540", "One mask of a batch", f"A parameter has one value for each item or head. Pictures and numbers of tools are those of one mask; messages are about all, up to {limits.MAX_ANALYSED_MASKS} different ones."),
)  # fmt: skip
