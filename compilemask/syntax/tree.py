"""The tree of a mask text: what is written, before names mean anything.

`Missing` stands where something should be and is not; a message about it was given when it was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from compilemask.diagnostics import Span

if TYPE_CHECKING:
    from compilemask.syntax.mask_tree import AllowNode, AssertNode, MaskExpression

Align = Literal["start", "end"]
ArithmeticSign = Literal["+", "-", "*", "//", "%"]
Value = int | bool | tuple[int, ...] | tuple[tuple[int, ...], ...]
"""A written value; `true` and `false` in lists are bool."""
TypeName = Literal["int", "bool", "int[]", "bool[]", "int[][]", "bool[][]"]


@dataclass(frozen=True, slots=True)
class Missing:
    span: Span


@dataclass(frozen=True, slots=True)
class Name:
    """A name; text "" when it is missing."""

    text: str
    span: Span


# ---------------------------------------------------------------- expressions: numbers and conditions


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class BoolLiteral:
    value: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Item:
    """`lengths[i]`, or of a list of lists `answers[i][j]`, where `second` is the index in the second brackets."""

    name: Name
    index: Expression
    span: Span
    second: Expression | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """`q`, `k` (field ""), `q.pos`, `k.y`."""

    side: Literal["q", "k"]
    field: str
    span: Span


@dataclass(frozen=True, slots=True)
class Delta:
    """`dx`, `dy`, `dz`: axis is the letter."""

    axis: str
    span: Span


@dataclass(frozen=True, slots=True)
class Prefix:
    """`-a` or `not a`."""

    operator: Literal["-", "not"]
    operand: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: ArithmeticSign
    left: Expression
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain `first op a op b`: one or more links."""

    first: Expression
    links: tuple[tuple[str, Expression], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Logic:
    """`a and b and c`, or the same with `or`: two or more items."""

    operator: Literal["and", "or"]
    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Joined:
    """`left where right`, `left except right`; left is None at the beginning of a condition."""

    word: Literal["where", "except"]
    left: Expression | None
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Calling:
    function: str
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Relation:
    """`causal`, `same position`, with or without `aligned start` / `aligned end`."""

    name: Literal["causal", "same position"]
    align: Align | None
    span: Span


@dataclass(frozen=True, slots=True)
class Ancestry:
    """`above is ancestor of below in parents`."""

    above: Expression
    below: Expression
    parents: Name
    span: Span


@dataclass(frozen=True, slots=True)
class Membership:
    """`k in kept`, or with a row of a table `k // size in chosen[q]`."""

    number: Expression
    list_name: Name
    row: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class Near:
    """`near(y, kernel, dilation = 2, stride = 4, causal)`; axis "" when it is missing."""

    axis: Literal["x", "y", "z", "pos", ""]
    kernel: Expression
    dilation: Expression | None
    stride: Expression | None
    causal: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Group:
    """Brackets around an expression."""

    inner: Expression
    span: Span


Expression = (
    Missing
    | Name
    | NumberLiteral
    | BoolLiteral
    | Item
    | Member
    | Delta
    | Prefix
    | Arithmetic
    | Comparison
    | Logic
    | Joined
    | Calling
    | Relation
    | Ancestry
    | Membership
    | Near
    | Group
)

# ---------------------------------------------------------------- declarations


@dataclass(frozen=True, slots=True)
class Written:
    """A written value: of a default or of an example. value is None when it is missing."""

    value: Value | None
    span: Span


@dataclass(frozen=True, slots=True)
class RangeNode:
    """`in 1..4096`; an end is None when it is left out."""

    minimum: Written | None
    maximum: Written | None
    span: Span


Per = Literal["item", "head"]


@dataclass(frozen=True, slots=True)
class ParameterNode:
    """type is None when it is missing or not a type. per: set when it may differ between items or heads of a batch."""

    name: Name
    type: TypeName | None
    default: Written | None
    doc: str
    span: Span
    per: Per | None = None
    range: RangeNode | None = None


@dataclass(frozen=True, slots=True)
class StoredNode:
    """`stored tiles(8, 16)`; order "" when it is missing."""

    order: Literal["tiles", "zigzag", "pages", ""]
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RegionNode:
    """`S: n`, `D[i]: lengths[i]`, `N[i < n]: size`, `img: h x w`, `doc[i] { .. }`.

    children is None for a region with a size. unused: where the word `unused` stands, or None.
    """

    name: Name
    index: Name | None
    count: Expression | None
    extent: tuple[Expression, ...]
    children: tuple[RegionNode, ...] | None
    doc: str
    span: Span
    stored: StoredNode | None = None
    unused: Span | None = None


@dataclass(frozen=True, slots=True)
class AxisNode:
    kind: Literal["tokens", "queries", "keys"]
    regions: tuple[RegionNode, ...]
    keyword: Span
    span: Span


@dataclass(frozen=True, slots=True)
class PartNode:
    """One step of a reference: `doc[i]`."""

    name: Name
    index: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class ReferenceNode:
    """`doc[i].P`; parts may hold a missing name."""

    parts: tuple[PartNode, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RuleNode:
    queries: tuple[ReferenceNode, ...]
    keys: tuple[ReferenceNode, ...]
    condition: Expression | None
    doc: str
    span: Span


@dataclass(frozen=True, slots=True)
class SettingNode:
    name: Name
    value: Written
    span: Span


@dataclass(frozen=True, slots=True)
class ExampleNode:
    name: Name
    settings: tuple[SettingNode, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MaskTree:
    """A whole text. complete: false when there was a syntax error, so that parts of the tree are a guess.

    header: from `mask` to the closing bracket; an empty span at the beginning when there is none.
    body: the expression behind `=` of a mask made of masks, which has neither axes nor rules.
    helpers: the masks that stand before this one in the text; they have none themselves.
    """

    name: Name
    parameters: tuple[ParameterNode, ...]
    axes: tuple[AxisNode, ...]
    rules: tuple[RuleNode, ...]
    examples: tuple[ExampleNode, ...]
    doc: str
    header: Span
    span: Span
    complete: bool
    body: MaskExpression | None = None
    assertions: tuple[AssertNode, ...] = ()
    helpers: tuple[MaskTree, ...] = ()
    allowances: tuple[AllowNode, ...] = ()
