"""The ten core programs, as the language promises to accept them, and short ways to check texts."""

from __future__ import annotations

from typing import Final

from compilemask.diagnostics import Fix
from compilemask.semantics import CheckedMask, check
from compilemask.semantics.program import (
    All,
    Ancestor,
    AnyOf,
    Binary,
    Call,
    Causal,
    Chosen,
    Compare,
    Condition,
    Coordinate,
    Element,
    Flag,
    InstanceIndex,
    ListFold,
    Near,
    Negate,
    Not,
    Number,
    ParameterValue,
    Position,
    SamePosition,
)
from compilemask.syntax import parse

CORE: Final[dict[str, str]] = {
    "causal": """\
mask causal(n: int)
tokens { S: n }
S sees S causal
""",
    "streaming": """\
mask streaming(n: int, sink: int = 4, window: int = 1024)
tokens { S: n }
S sees S causal and (k < sink or q - k < window)
""",
    "documents": """\
mask documents(lengths: int[])
tokens { D[i]: lengths[i] }
D[i] sees D[i] causal
""",
    "prefix_lm": """\
mask prefix_lm(prefix: int[], rest: int[])
tokens { doc[i] { P: prefix[i]; T: rest[i] } }
doc[i].P sees doc[i].P
doc[i].T sees doc[i].P
doc[i].T sees doc[i].T causal
""",
    "shared_prompt": """\
mask shared_prompt(prompt: int,
                   responses: int[],
                   padding: int = 0)
tokens { P: prompt; R[i]: responses[i];
         pad: padding }
P    sees P causal
R[i] sees P
R[i] sees R[i] causal
""",
    "hstu": """\
mask hstu(context: int, history: int, targets: int)
tokens { C: context; H: history; T: targets }
C sees C, H
H sees C
H sees H causal
T sees C, H
T sees T same position
""",
    "clear": """\
mask clear(text: int, height: int,
           width: int, radius: int)
tokens { txt: text; img: height x width }
txt sees txt, img
img sees txt
img sees img where dy*dy + dx*dx < radius*radius
""",
    "bd3lm": """\
mask bd3lm(blocks: int, size: int)
tokens { N[i < blocks]: size; C[i < blocks]: size }
N[i] sees N[i]
N[i] sees C[j] where j < i
C[i] sees C[j] where j <= i
""",
    "decode": """\
mask decode(q_len: int, kv_len: int)
queries { Q: q_len }
keys    { K: kv_len }
Q sees K causal aligned end
""",
    "video": """\
mask video(chunks: int, tokens_per_chunk: int, window: int)
tokens { F[i < chunks]: tokens_per_chunk }
F[i] sees F[j] where j <= i and i - j < window
""",
}

COMPOSED: Final[dict[str, str]] = {
    "image": """\
## Text before pictures
mask text(n: int, window: int = 4)
tokens { S: n }
S sees S causal and q - k < window
assert causal
assert S never sees S where k > q

mask image(n: int, start: int, stop: int)
tokens { S: n }
S sees S where start <= q < stop
    and start <= k < stop
assert visible == (stop - start) * (stop - start)

mask whole(n: int, start: int, stop: int, window: int = 4)
    = (text(n, window) or image(n, start, stop = stop)) and not image(n, 1, 2)
    except image(n = n, start = 2, stop = 3)
assert every query sees a key
assert density < 0.75  # of all
assert S sees all S where start <= q < k < stop
example small(n = 16, start = 4, stop = 8)
""",
    "packed": """\
mask parts(lengths: int[], both: bool = false)
tokens { D[i] { A: lengths[i]; B: 1 } }
D[i]   sees D[i] causal
D[i].A sees D[i].A where both
assert D[i] never sees D[j] where i != j
assert D[i].B sees all D[i].A, D[i].B
assert every key is seen

mask twice(lengths: int[], flag: bool) = parts(lengths, flag) and parts([3, 4], both = true)
assert equals parts(lengths, flag) or parts(lengths, flag)
assert D.A never sees D.B
""",
}
"""Texts with several masks and all kinds of assertions."""


def with_rules(
    *rules: str, parameters: str = "n: int, w: int, flag: bool, lengths: int[]", regions: str = "S: n"
) -> str:
    """A text with these rules on `tokens { regions }`."""
    return "\n".join([f"mask m({parameters})", f"tokens {{ {regions} }}", *rules, ""])


def checked(source: str) -> CheckedMask:
    """The checked mask of a text that is right."""
    tree, syntax = parse(source)
    mask, semantic = check(tree, source)
    assert mask is not None, [m.message for m in syntax + semantic]
    return mask


def condition_of(text: str, **given: str) -> Condition | None:
    """The condition that `text` is checked into, behind `S sees S`."""
    return checked(with_rules(f"S sees S {text}", **given)).rules[0].condition


def errors_of(source: str) -> list[tuple[str, str]]:
    """Code and marked text of every message."""
    tree, syntax = parse(source)
    _, semantic = check(tree, source)
    return [(m.code, source[m.span.start : m.span.stop]) for m in syntax + semantic]


def apply_fix(source: str, fix: Fix) -> str:
    """The text after a quick fix."""
    for edit in sorted(fix.edits, key=lambda e: e.span.start, reverse=True):
        source = source[: edit.span.start] + edit.text + source[edit.span.stop :]
    return source


def show(node: object) -> str:
    """A checked number or condition in full brackets, to compare with what is expected."""
    match node:
        case Number(value, _):
            return str(value)
        case ParameterValue(name, _) | InstanceIndex(name, _):
            return name
        case Element(name, index, _, row):
            return f"{name}{'' if row is None else f'[{show(row)}]'}[{show(index)}]"
        case ListFold(fold, name, _, row):
            return f"{fold}({name}{'' if row is None else f'[{show(row)}]'})"
        case Ancestor(above, below, parents, _):
            return f"({show(above)} above {show(below)} in {parents})"
        case Near():
            sizes = ", ".join(map(show, (node.query, node.key, node.kernel, node.dilation, node.stride)))
            return f"near({sizes}{', causal' if node.causal else ''})"
        case Chosen(element, _):
            return show(element)
        case Position(side, frame, _):
            return side if frame == "axis" else f"{side}.pos"
        case Coordinate(side, axis, _):
            return f"{side}.{axis}"
        case Negate(operand, _):
            return f"(-{show(operand)})"
        case Binary(operator, left, right, _) | Compare(operator, left, right, _):
            return f"({show(left)} {operator} {show(right)})"
        case Call(function, arguments, _):
            return f"{function}({', '.join(map(show, arguments))})"
        case Causal(align, _):
            return "causal" + (f"-{align}" if align else "")
        case SamePosition(align, _):
            return "same" + (f"-{align}" if align else "")
        case Flag(value, _):
            return str(value)
        case All(items, _):
            return f"all{{{', '.join(map(show, items))}}}"
        case AnyOf(items, _):
            return f"any{{{', '.join(map(show, items))}}}"
        case Not(item, _):
            return f"not{{{show(item)}}}"
        case None:
            return "always"
    raise AssertionError(node)
