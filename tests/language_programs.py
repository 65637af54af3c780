"""The ten core programs, as the language promises to accept them."""

from __future__ import annotations

from typing import Final

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


def with_rules(
    *rules: str, parameters: str = "n: int, w: int, flag: bool, lengths: int[]", regions: str = "S: n"
) -> str:
    """A text with these rules on `tokens { regions }`."""
    return "\n".join([f"mask m({parameters})", f"tokens {{ {regions} }}", *rules, ""])
