"""Every word and sign of the language, with its documentation. The lexer, completion, hover and the manual read this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

WordKind = Literal["keyword", "relation", "type", "function", "symbol"]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the language: its spelling, its kind and its documentation (Markdown, first line is the short form)."""

    name: str
    kind: WordKind
    doc: str


_WINDOW: Final = (
    "Windows are written as comparisons, so that the counting is visible: `q - k < 4` is *the last 4 keys counting the "
    "query itself*; `q - k <= 4` is *4 keys back and the query itself*, 5 keys."
)

WORDS: Final[tuple[Word, ...]] = (
    # ------------------------------------------------------------ keywords
    Word(
        "mask",
        "keyword",
        "Defines a mask.\n\n`mask causal(n: int)`, followed by regions and rules; or made of other masks: "
        "`mask packed(lengths: int[], w: int) = documents(lengths) and sliding_window(sum(lengths), w)`. The last mask of "
        "a text is the one that the text is about; the masks before it are its helpers.",
    ),
    Word(
        "tokens",
        "keyword",
        "One token axis, shared by queries and keys.\n\n`tokens { P: prompt; R[i]: responses[i] }` lays its regions side by "
        "side, in this order, without gaps.",
    ),
    Word(
        "queries",
        "keyword",
        "The axis of the queries, when keys have an axis of their own.\n\n`queries { Q: q_len }`, followed by `keys { .. }`.",
    ),
    Word(
        "keys",
        "keyword",
        "The axis of the keys, when queries have an axis of their own.\n\n`keys { K: kv_len }`, after `queries { .. }`.",
    ),
    Word(
        "unused",
        "keyword",
        "Behind a size: places that hold no token.\n\n`pad: padding unused`. No rule may name them, so that they see "
        "nothing and nobody sees them, and no message speaks of them.",
    ),
    Word(
        "allow",
        "keyword",
        "Says that idle places are meant, so that no warning speaks of them.\n\n`allow empty queries`, "
        "`allow unseen keys`; with `in` and regions, those of the regions only.",
    ),
    Word("empty queries", "keyword", "Behind `allow`: queries that see no key. Their attention output is 0."),
    Word("unseen keys", "keyword", "Behind `allow`: keys that no query sees."),
    Word("every query sees a key", "keyword", "Behind `assert`: no query has an empty row."),
    Word("every key is seen", "keyword", "Behind `assert`: no key has an empty column."),
    Word(
        "never sees",
        "keyword",
        "Behind `assert`: no cell between these regions is visible.\n\n`assert D[i] never sees D[j] where i != j` says that "
        "no document sees another; the condition picks the cells that are meant.",
    ),
    Word(
        "sees all",
        "keyword",
        "Behind `assert`: every cell between these regions is visible.\n\n`assert C sees all H`. A condition picks the "
        "cells that are meant.",
    ),
    Word(
        "sees",
        "keyword",
        "The verb of a rule: queries on its left see keys on its right.\n\n`H sees C` makes every token of `C` visible to "
        "every token of `H`. `H sees H causal` adds a condition. Rules add up; whatever no rule says is hidden.",
    ),
    Word(
        "where",
        "keyword",
        "Joins a condition to a rule; it reads as `and`.\n\n`S sees S causal where k < 4` is `S sees S causal and k < 4`. "
        "It binds loosest of all, together with `except`, from left to right.",
    ),
    Word("and", "keyword", "Both conditions hold.\n\nBinds closer than `or`."),
    Word(
        "or",
        "keyword",
        "At least one of the conditions holds.\n\nBinds looser than `and`: put brackets where both meet.",
    ),
    Word("not", "keyword", "The condition does not hold.\n\nBinds closer than `and`; `not k < 4` is `not (k < 4)`."),
    Word(
        "except",
        "keyword",
        "`X except Y` is `X and not Y`.\n\nBinds loosest of all, together with `where`, from left to right: "
        "`causal or k < 4 except k == 2` is `(causal or k < 4) and not k == 2`.",
    ),
    Word("true", "keyword", "The condition that always holds; also a value of a `bool` parameter."),
    Word("false", "keyword", "The condition that never holds; also a value of a `bool` parameter."),
    Word(
        "assert",
        "keyword",
        "A claim that is checked, exactly, whenever the mask is bound.\n\n`assert causal`, `assert every query sees a key`, "
        "`assert R[i] never sees R[j] where i != j`, `assert density < 0.3`. A claim that does not hold is an error, with "
        "a query and a key that show it.",
    ),
    Word(
        "density", "keyword", "Behind `assert`: the visible share of all cells, from 0 to 1.\n\n`assert density < 0.3`."
    ),
    Word("visible", "keyword", "Behind `assert`: how many cells are visible.\n\n`assert visible == n * (n + 1) // 2`."),
    Word(
        "equals",
        "keyword",
        "Behind `assert`: the mask has the same cells as another one.\n\n`assert equals documents(lengths)`.",
    ),
    Word(
        "example",
        "keyword",
        "Named numbers to show the mask with.\n\n`example small(n = 64, lengths = [3, 4])`. Tools show the first example "
        "when no numbers are given.",
    ),
    Word(
        "x",
        "keyword",
        "Between two or three sizes, a grid.\n\n`img: height x width` has `height * width` tokens, row after row. "
        "Behind a dot, `q.x` and `k.x`, the column on a grid.",
    ),
    Word(
        "stored",
        "keyword",
        "Behind a size, the order in which the tokens are stored.\n\n`img: height x width stored tiles(8, 16)`. Conditions "
        "still count as if they were not: `q.y`, `q.pos` and `causal` speak of the picture or the text.",
    ),
    Word("tiles", "keyword", "An order: tile after tile, `stored tiles(8, 16)`, each row after row."),
    Word(
        "zigzag",
        "keyword",
        "An order: `stored zigzag(ranks)` cuts the tokens into two chunks for each rank; rank `r` stores chunk `r` and then "
        "chunk `2*ranks - 1 - r`, so that causal work is even.",
    ),
    Word(
        "pages",
        "keyword",
        "An order: `stored pages(table, size)` stores token `t` in page `table[t // size]`. The region's size counts slots; "
        "slots of free pages hold no token, and nobody sees them.",
    ),
    # ------------------------------------------------------------ relations
    Word(
        "causal",
        "relation",
        "No key later than the query.\n\nOn one `tokens` axis: `k <= q`, the query itself included. "
        "`causal aligned start` and `causal aligned end` count inside the two regions instead; with `queries` and `keys` "
        "one of them must be written, because the axes may differ in length.",
    ),
    Word(
        "same position",
        "relation",
        "The key stands where the query stands, counted inside their regions: `q.pos == k.pos`.\n\n"
        "`T sees T same position` lets each token of `T` see itself only. `same position aligned end` counts from the ends. "
        "With `queries` and `keys`, `aligned start` or `aligned end` must be written.",
    ),
    Word(
        "aligned start",
        "relation",
        "Count positions from the first token of both regions.\n\n`Q sees K causal aligned start`: query 0 sees key 0.",
    ),
    Word(
        "aligned end",
        "relation",
        "Count positions from the last token of both regions.\n\n`Q sees K causal aligned end`: the last query sees every "
        "key. This is what decoding with a key cache means by causal.",
    ),
    Word(
        "is ancestor of",
        "relation",
        "Above in a tree.\n\n`N[i] sees N[j] where j is ancestor of i in parent`: `parent[i]` is the number of the node "
        "above `i`, which comes before it, or -1 for a root. A node is no ancestor of itself; add `or j == i` for that.",
    ),
    Word(
        "in",
        "keyword",
        "The number is one of a list.\n\n`k in kept` with a list, `k // 64 in chosen[i]` with a row of a list of lists.\n\n"
        "Behind `is ancestor of`, the list that gives each node its parent. Behind a type, the numbers that are allowed: "
        "`window: int in 1..4096 = 1024` takes 1 to 4096, both included; `in 1..` has no upper end. Of a list, every number "
        "must be in the range.",
    ),
    Word(
        "near",
        "relation",
        "A window of always the same size, pushed inside at the border.\n\n`near(y, 17)`: the key's `y` is one of the 17 "
        "around the query's. `near(x, 17, dilation = 2)` takes every second, `stride = 4` gives 4 neighbours one window, and "
        "`causal` takes the last 17 counting the query itself. Axes are `x`, `y`, `z`, and `pos` in a region with one size.",
    ),
    Word("dilation", "relation", "In `near`, the step from one key of the window to the next; 1 if left out."),
    Word("stride", "relation", "In `near`, how many neighbouring queries share one window; 1 if left out."),
    # ------------------------------------------------------------ types
    Word("int", "type", "A whole number.\n\n`n: int`, or with a default `sink: int = 4`."),
    Word("bool", "type", "A switch, used as a condition.\n\n`wide: bool = true`, then `S sees S causal or wide`."),
    Word(
        "int[]",
        "type",
        "A list of whole numbers.\n\n`lengths: int[]`, or with a default `lengths: int[] = [3, 4]`. "
        "`D[i]: lengths[i]` makes one region for each. `evicted_at[k]` picks by position.",
    ),
    Word("bool[]", "type", "A list of `true` and `false`; an item, `kept[k]`, is a condition."),
    Word(
        "int[][]",
        "type",
        "A list of lists of whole numbers, which may differ in length.\n\n`answers: int[][]`, then `answers[i][j]` is a "
        "number, `len(answers[i])` asks about a row, and `g[i] { R[j]: answers[i][j] }` makes regions of them.",
    ),
    Word(
        "bool[][]",
        "type",
        "A table of `true` and `false`, one list for each row.\n\n`chosen: bool[][]`, then `B[i] sees B[j] where chosen[i][j]` "
        "takes selected blocks from a table.",
    ),
    Word(
        "per item",
        "type",
        "Behind a type: the value may differ between the items of a batch.\n\n`prefix: int per item` takes a number for all, "
        "or a list with one number for each item; `lengths: int[] per item` a list, or a list of lists. The mask is then a "
        "batch of masks.",
    ),
    Word(
        "per head",
        "type",
        "Behind a type: the value may differ between query heads.\n\n`window: int per head` takes a number for all, or a list "
        "with one number for each query head. The mask is then a batch of masks.",
    ),
    # ------------------------------------------------------------ functions
    Word("min", "function", "The least of its numbers, `min(a, b)`, or of a list, `min(lengths)`."),
    Word("max", "function", "The greatest of its numbers, `max(a, b)`, or of a list, `max(lengths)`."),
    Word(
        "abs",
        "function",
        "The number without its sign.\n\n`abs(q - k) <= 4` looks 4 keys to both sides, 9 keys in all.",
    ),
    Word("len", "function", "How many numbers a list has, `len(lengths)`."),
    Word("sum", "function", "The sum of a list, `sum(lengths)`, or of all numbers of a list of lists."),
    # ------------------------------------------------------------ symbols
    Word("q", "symbol", "The position of the query on its axis, from 0.\n\n" + _WINDOW),
    Word("k", "symbol", "The position of the key on its axis, from 0.\n\n" + _WINDOW),
    Word(
        "q.pos", "symbol", "The position of the query inside its region (inside its instance, if it repeats), from 0."
    ),
    Word("k.pos", "symbol", "The position of the key inside its region (inside its instance, if it repeats), from 0."),
    Word("q.x", "symbol", "The column of the query on its grid, from 0."),
    Word("q.y", "symbol", "The row of the query on its grid, from 0."),
    Word(
        "q.z",
        "symbol",
        "The layer of the query on its three-dimensional grid, from 0: a frame of a video, for example.",
    ),
    Word("k.x", "symbol", "The column of the key on its grid, from 0."),
    Word("k.y", "symbol", "The row of the key on its grid, from 0."),
    Word("k.z", "symbol", "The layer of the key on its three-dimensional grid, from 0."),
    Word("dx", "symbol", "Columns from the query to the key: `k.x - q.x`."),
    Word("dy", "symbol", "Rows from the query to the key: `k.y - q.y`."),
    Word("dz", "symbol", "Layers from the query to the key: `k.z - q.z`."),
    Word("+", "symbol", "Sum of two whole numbers."),
    Word("-", "symbol", "Difference of two whole numbers, or a number with its sign changed.\n\n" + _WINDOW),
    Word("*", "symbol", "Product of two whole numbers."),
    Word("//", "symbol", "Quotient rounded down: `7 // 2` is 3, `-7 // 2` is -4."),
    Word("%", "symbol", "Remainder with the sign of the divisor: `7 % 4` is 3, `-1 % 4` is 3."),
    Word("<", "symbol", "Less than. " + _WINDOW),
    Word("<=", "symbol", "Less than or equal. Comparisons chain: `0 <= q - k < 4`."),
    Word("==", "symbol", "Equal, of two numbers. (One `=` gives a default or a value.)"),
    Word("!=", "symbol", "Not equal, of two numbers."),
    Word(">", "symbol", "Greater than."),
    Word(">=", "symbol", "Greater than or equal."),
    Word("=", "symbol", "Gives a parameter its default, or an example its value. To compare, write `==`."),
    Word(":", "symbol", "Between a name and its type or its size."),
    Word(";", "symbol", "Separates regions on one line; a new line does too."),
    Word(",", "symbol", "Separates parameters, regions of a rule, arguments and list items."),
    Word(".", "symbol", "A region inside a region, `doc[i].T`, or a property of a position, `q.pos`."),
    Word(
        "..",
        "symbol",
        "Between the least and the greatest number of a range; both belong to it.\n\n`window: int in 1..4096`.",
    ),
    Word("{ }", "symbol", "Around regions."),
    Word("( )", "symbol", "Around parameters, arguments, and whatever belongs together."),
    Word(
        "[ ]",
        "symbol",
        "Instances of a region that repeats, `D[i]`; an item of a list, `lengths[i]`; a written list, `[3, 4]`.\n\n"
        "The same variable twice in a rule means the same instance. `N[i < blocks]` repeats `blocks` times.",
    ),
    Word("#", "symbol", "A comment, to the end of the line."),
    Word(
        "##",
        "symbol",
        "Documentation of the mask, parameter, region or rule that follows (or, on the same line, precedes) it. Markdown.",
    ),
)

# fmt: off
RESERVED: Final[frozenset[str]] = frozenset((
    "mask", "tokens", "queries", "keys", "sees", "where", "and", "or", "not", "except", "true", "false", "assert",
    "example", "x", "causal", "same", "aligned", "is", "int", "bool", "min", "max", "abs", "len", "sum", "q", "k",
    "dx", "dy", "dz",
))
# fmt: on
"""Words that cannot be names. (`position`, `start`, `end`, `pos`, `y`, `z` can: they mean something only behind others.)"""

SYMBOLS: Final[tuple[str, ...]] = (
    *("//", "<=", ">=", "==", "!=", ".."),
    *("<", ">", "=", "+", "-", "*", "%", ":", ";", ",", ".", "{", "}", "(", ")", "[", "]"),
)
"""Signs, longer ones first."""

FOREIGN: Final[dict[str, tuple[str, str]]] = {
    "&&": ("and", "conditions use words, so that a rule reads aloud"),
    "||": ("or", "conditions use words, so that a rule reads aloud"),
    "&": ("and", "conditions use words, so that a rule reads aloud"),
    "|": ("or", "conditions use words, so that a rule reads aloud"),
    "!": ("not", "conditions use words, so that a rule reads aloud"),
    "~": ("not", "conditions use words, so that a rule reads aloud"),
    "∧": ("and", "conditions use words, so that a rule reads aloud"),
    "∨": ("or", "conditions use words, so that a rule reads aloud"),
    "¬": ("not", "conditions use words, so that a rule reads aloud"),
    "/": ("//", "division rounds down to a whole number, and is written so"),
    "÷": ("//", "division rounds down to a whole number, and is written so"),
    "==>": ("sees", "a rule reads `QUERIES sees KEYS`"),
    "=>": ("sees", "a rule reads `QUERIES sees KEYS`"),
    "->": ("sees", "a rule reads `QUERIES sees KEYS`"),
    "→": ("sees", "a rule reads `QUERIES sees KEYS`"),
    "⇒": ("sees", "a rule reads `QUERIES sees KEYS`"),
    "≤": ("<=", "comparisons are written with the keys of a keyboard"),
    "≥": (">=", "comparisons are written with the keys of a keyboard"),
    "≠": ("!=", "comparisons are written with the keys of a keyboard"),
    "=<": ("<=", "the equals sign comes last"),
    "<>": ("!=", "not equal is written so"),
    "===": ("==", "two signs are enough"),
    "!==": ("!=", "two signs are enough"),
    ":=": ("=", "a default or a value takes one sign"),
    "×": ("x", "a grid is written with the letter x"),
    "·": ("*", "a product is written so"),
    "−": ("-", "a minus sign is written with the hyphen key"),
    "–": ("-", "a minus sign is written with the hyphen key"),
    "—": ("-", "a minus sign is written with the hyphen key"),
    "，": (",", "this is the wide form of the sign"),
    "；": (";", "this is the wide form of the sign"),
    "：": (":", "this is the wide form of the sign"),
    "（": ("(", "this is the wide form of the sign"),
    "）": (")", "this is the wide form of the sign"),
    "//=": ("//", "nothing is assigned here"),
}
"""Signs of other languages: what is meant, and why it is written otherwise here."""

POWERS: Final = ("**", "^")
"""Signs of powers, which this language does not have."""

SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    "sees": ("see", "attends", "attend", "attends_to", "looks", "reads", "to"),
    "where": ("if", "when", "with", "while", "given", "such"),
    "except": ("unless", "but", "without", "minus"),
    "int": ("integer", "number", "size", "num", "i32", "i64", "long"),
    "bool": ("boolean", "flag"),
    "int[]": ("list", "array", "ints", "List", "tuple", "vector"),
    "true": ("True", "yes", "on"),
    "false": ("False", "no", "off"),
    "causal": ("autoregressive", "lower", "tril"),
    "same position": ("diagonal", "diag", "itself", "self"),
}
"""What people write for a word of the language."""


def words() -> tuple[Word, ...]:
    """All words and signs, with their documentation."""
    return WORDS
