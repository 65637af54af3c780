"""Random mask texts with numbers for them: repeated, nested and grid regions, one axis or two, conditions of all kinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

LETTERS = {2: "yx", 3: "zyx"}


@dataclass(frozen=True)
class Kind:
    """A region that rules may name. indices: how many instance numbers its reference takes; rank: of its grid, or 0.

    places: the least number of places along each axis of the grid, or of the region without one; None when windows
    cannot lie in it.
    """

    reference: str
    indices: int
    rank: int
    places: tuple[int, ...] | None = None


@dataclass
class Program:
    source: str
    values: dict[str, Any] = field(default_factory=dict)


@st.composite
def programs(draw: st.DrawFn, max_rules: int = 3) -> Program:
    values: dict[str, Any] = {}
    two_axes = draw(st.booleans())
    if two_axes:
        q_text, q_kinds = draw(axes("A", values))
        k_text, k_kinds = draw(axes("B", values))
        axis = f"queries {{ {q_text} }}\nkeys {{ {k_text} }}"
    else:
        text, q_kinds = draw(axes("A", values))
        axis, k_kinds = f"tokens {{ {text} }}", q_kinds
    values["table"] = tuple(draw(st.lists(st.integers(-3, 9), min_size=5, max_size=5)))
    values["flag"] = draw(st.booleans())
    rules = [draw(rule(q_kinds, k_kinds, two_axes)) for _ in range(draw(st.integers(1, max_rules)))]
    numbers_of_a_row = st.lists(st.integers(-3, 9), min_size=2, max_size=4).map(tuple)
    values["ragged"] = draw(st.tuples(numbers_of_a_row, numbers_of_a_row, numbers_of_a_row))
    chosen = st.lists(st.booleans(), min_size=3, max_size=3).map(tuple)
    values["chosen"] = draw(st.tuples(chosen, chosen))
    values["parent"] = draw(forests())
    header = ", ".join(f"{name}: {type_of(value)}" for name, value in values.items())
    return Program(f"mask random({header})\n{axis}\n" + "\n".join(rules) + "\n", values)


@st.composite
def forests(draw: st.DrawFn) -> tuple[int, ...]:
    """Six nodes, each with a parent before it, or -1."""
    return tuple(draw(st.integers(-1, node - 1)) for node in range(6))


def type_of(value: Any) -> str:
    if isinstance(value, tuple):
        inner = type_of(value[0]) if value else "int"
        return f"{inner}[]"
    return "bool" if isinstance(value, bool) else "int"


@st.composite
def axes(draw: st.DrawFn, prefix: str, values: dict[str, Any]) -> tuple[str, list[Kind]]:
    parts, kinds = [], []
    for number in range(draw(st.integers(1, 3))):
        name = f"{prefix}{number}"
        text, found = draw(region(name, values))
        parts.append(text)
        kinds.extend(found)
    return "; ".join(parts), kinds


@st.composite
def region(draw: st.DrawFn, name: str, values: dict[str, Any]) -> tuple[str, list[Kind]]:
    lower = name.lower()
    lists = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)
    match draw(
        st.sampled_from(["single", "stored", "list", "count", "grid", "volume", "grids", "nested", "ragged", "rows"])
    ):
        case "single":
            n = values[f"{lower}n"] = draw(st.integers(0, 12))
            return f"{name}: {lower}n", [Kind(name, 0, 0, (n,))]
        case "stored":
            return draw(stored_region(name, values))
        case "list":
            values[f"{lower}l"] = draw(lists)
            return f"{name}[i]: {lower}l[i]", [Kind(name + "[{}]", 1, 0)]
        case "count":
            values[f"{lower}c"], s = draw(st.integers(0, 5)), draw(st.integers(0, 3))
            values[f"{lower}s"] = s
            return f"{name}[i < {lower}c]: {lower}s", [Kind(name + "[{}]", 1, 0, (s,))]
        case "grid":
            h, w = values[f"{lower}h"], values[f"{lower}w"] = draw(st.integers(0, 4)), draw(st.integers(0, 4))
            return f"{name}: {lower}h x {lower}w", [Kind(name, 0, 2, (h, w))]
        case "volume":
            t, w = values[f"{lower}t"], values[f"{lower}w"] = draw(st.integers(0, 2)), draw(st.integers(0, 3))
            return f"{name}: {lower}t x 2 x {lower}w", [Kind(name, 0, 3, (t, 2, w))]
        case "grids":
            values[f"{lower}g"] = draw(st.lists(st.integers(0, 3), max_size=3).map(tuple))
            return f"{name}[i]: {lower}g[i] x (1 + i)", [Kind(name + "[{}]", 1, 2)]
        case "nested":
            first = draw(lists)
            second = draw(st.lists(st.integers(0, 3), min_size=len(first), max_size=len(first)).map(tuple))
            values[f"{lower}p"], values[f"{lower}r"] = first, second
            text = f"{name}[i] {{ {name}P: {lower}p[i]; {name}T: {lower}r[i] }}"
            whole = name + "[{}]"
            return text, [Kind(whole, 1, 0), Kind(f"{whole}.{name}P", 1, 0), Kind(f"{whole}.{name}T", 1, 0)]
        case "rows":
            rows = draw(st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), min_size=1, max_size=3).map(tuple))
            values[f"{lower}t"] = rows
            values[f"{lower}h"] = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)).map(tuple))
            text = f"{name}[i] {{ {name}H: {lower}h[i]; {name}R[j]: {lower}t[i][j] }}"
            whole = name + "[{}]"
            return text, [Kind(whole, 1, 0), Kind(f"{whole}.{name}H", 1, 0), Kind(f"{whole}.{name}R[{{}}]", 2, 0)]
        case _:
            values[f"{lower}m"] = draw(st.lists(st.integers(0, 3), max_size=3).map(tuple))
            text = f"{name}[i] {{ {name}H: 1; {name}R[j < {lower}m[i]]: 1 + (i + j) % 2 }}"
            whole = name + "[{}]"
            return text, [Kind(whole, 1, 0), Kind(f"{whole}.{name}H", 1, 0), Kind(f"{whole}.{name}R[{{}}]", 2, 0)]


@st.composite
def stored_region(draw: st.DrawFn, name: str, values: dict[str, Any]) -> tuple[str, list[Kind]]:
    """A region whose tokens are stored in another order than that in which they are counted."""
    lower = name.lower()
    match draw(st.sampled_from(["tiles", "zigzag", "pages"])):
        case "tiles":
            h, w = draw(st.integers(0, 5)), draw(st.integers(0, 4))
            values[f"{lower}h"], values[f"{lower}w"] = h, w
            sides = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
            text = f"{name}: {lower}h x {lower}w stored tiles({sides[0]}, {sides[1]})"
            return text, [Kind(name, 0, 2, (h, w))]
        case "zigzag":
            ranks = values[f"{lower}r"] = draw(st.integers(1, 2))
            n = values[f"{lower}n"] = 2 * ranks * draw(st.integers(0, 3))
            return f"{name}: {lower}n stored zigzag({lower}r)", [Kind(name, 0, 0, (n,))]
        case _:
            table = draw(st.permutations(range(4)))[: draw(st.integers(0, 4))]
            values[f"{lower}t"] = tuple(table)
            text = f"{name}: 8 stored pages({lower}t, 2)"
            return text, [Kind(name, 0, 0, (2 * len(table),))]


@st.composite
def rule(draw: st.DrawFn, q_kinds: list[Kind], k_kinds: list[Kind], two_axes: bool) -> str:
    q, k = draw(st.sampled_from(q_kinds)), draw(st.sampled_from(k_kinds))
    k = q if q in k_kinds and draw(st.booleans()) else k
    q_names = draw(st.permutations("abc"))[: q.indices]
    k_names = draw(st.permutations("abcd"))[: k.indices]
    text = f"{q.reference.format(*q_names)} sees {k.reference.format(*k_names)}"
    if draw(st.integers(0, 9)) == 0:
        return text
    scope = Names(q, k, tuple(dict.fromkeys([*q_names, *k_names])), two_axes)
    return f"{text} where {draw(conditions(scope, draw(st.integers(0, 2))))}"


@dataclass(frozen=True)
class Names:
    q: Kind
    k: Kind
    indices: tuple[str, ...]
    two_axes: bool

    def variables(self) -> list[str]:
        found = ["q", "k", "q.pos", "k.pos", *self.indices]
        found += [f"q.{letter}" for letter in LETTERS.get(self.q.rank, "")]
        found += [f"k.{letter}" for letter in LETTERS.get(self.k.rank, "")]
        if self.q.rank == self.k.rank:
            found += [f"d{letter}" for letter in LETTERS.get(self.q.rank, "")]
        return found


@st.composite
def conditions(draw: st.DrawFn, scope: Names, depth: int) -> str:
    if depth > 0 and draw(st.integers(0, 3)) > 0:
        left, right = draw(conditions(scope, depth - 1)), draw(conditions(scope, depth - 1))
        return draw(st.sampled_from(["({} and {})", "({} or {})", "not ({} and {})", "(not {} or {})"])).format(
            left, right
        )
    align = draw(st.sampled_from([" aligned start", " aligned end"] + ([] if scope.two_axes else [""])))
    sign = draw(st.sampled_from(["<", "<=", "==", "!=", ">=", ">"]))
    match draw(st.integers(0, 15)):
        case 13 | 14 | 15:
            return draw(windows(scope)) or f"causal{align}"
        case 12:
            above, below = draw(numbers(scope, 1)), draw(numbers(scope, 1))
            return f"({above}) % 6 is ancestor of ({below}) % 6 in parent"
        case 11:
            where = draw(st.sampled_from(["table", f"ragged[({draw(numbers(scope, 1))}) % 3]"]))
            return f"{draw(numbers(scope, 1))} in {where}"
        case 10:
            return f"chosen[({draw(numbers(scope, 1))}) % 2][({draw(numbers(scope, 1))}) % 3]"
        case 0:
            return f"causal{align}"
        case 1:
            return f"same position{align}"
        case 2:
            return draw(st.sampled_from(["flag", "not flag"]))
        case 3:
            low = draw(st.integers(-3, 2))
            return f"{low} <= {draw(numbers(scope, 1))} < {low + draw(st.integers(0, 6))}"
        case _:
            return f"{draw(numbers(scope, 2))} {sign} {draw(numbers(scope, 1))}"


@st.composite
def windows(draw: st.DrawFn, scope: Names) -> str:
    """A window that fits, where queries and keys are of one region; else nothing."""
    q, k = scope.q, scope.k
    if q.places is None or q.reference != k.reference or q.places != k.places:
        return ""
    axis = draw(st.integers(0, len(q.places) - 1))
    dilation = draw(st.integers(1, 2))
    causal = draw(st.booleans())
    most = 4 if causal else q.places[axis] // dilation
    if most < 1:
        return ""
    kernel = draw(st.integers(1, min(most, 4)))
    stride = draw(st.integers(1, kernel))
    letter = LETTERS[q.rank][axis] if q.rank else "pos"
    return f"near({letter}, {kernel}, dilation = {dilation}, stride = {stride}{', causal' if causal else ''})"


@st.composite
def numbers(draw: st.DrawFn, scope: Names, depth: int) -> str:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        if draw(st.integers(0, 4)) == 0:
            return str(draw(st.integers(0, 7)))
        return draw(st.sampled_from(scope.variables()))
    inner = numbers(scope, depth - 1)
    match draw(st.integers(0, 13)):
        case 12:
            return f"ragged[({draw(inner)}) % 3][({draw(inner)}) % 2]"
        case 13:
            return f"{draw(st.sampled_from(['len', 'sum', 'min', 'max']))}(ragged[({draw(inner)}) % 3])"
        case 0:
            return f"({draw(inner)}) // {draw(st.sampled_from(['2', '3', '(-2)']))}"
        case 1:
            return f"({draw(inner)}) % {draw(st.sampled_from(['2', '3', '(-3)']))}"
        case 2:
            return f"abs({draw(inner)})"
        case 3:
            return f"{draw(st.sampled_from(['min', 'max']))}({draw(inner)}, {draw(inner)})"
        case 4:
            return f"({draw(inner)}) * ({draw(inner)})"
        case 5:
            return f"table[({draw(inner)}) % 5]"
        case 6:
            return f"{draw(st.sampled_from(['2', '3', '(-1)']))} * ({draw(inner)})"
        case 7 | 8:
            return f"({draw(inner)} + {draw(inner)})"
        case _:
            return f"({draw(inner)} - ({draw(inner)}))"
