"""Every message of the language: its stable code, its title and what it is about. docs/errors.md is made from this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of message. code: "CM" and three digits: 1 characters, 2 grammar, 3 names and types, 4 binding, 5 warnings,
    6 assertions.

    title: the kind in a few words. doc: why it is a message and what to do, Markdown.
    """

    code: str
    title: str
    doc: str

    @property
    def severity(self) -> str:
        return "warning" if self.code.startswith("CM5") else "error"


CODES: Final[tuple[Code, ...]] = (
    # ------------------------------------------------------------ characters
    Code("CM101", "A character that means nothing", "Only letters, digits, `_` and the signs of the language have a meaning outside comments."),
    Code(
        "CM102",
        "A sign of another language",
        "The sign is known elsewhere; the quick fix writes the word or sign of this language. Conditions use words, so that a rule reads aloud.",
    ),
    Code("CM103", "A number with something attached", "All numbers are whole, and a letter cannot follow a digit directly."),
    Code("CM104", "A number that is too great", "Written numbers go up to 2,147,483,647."),
    Code("CM105", "A letter that cannot stand in a name", "Names are made of `a-z`, `A-Z`, `0-9` and `_`, so that no two different names look alike."),
    Code("CM106", "A name that is too long", "Names have up to 64 characters."),
    Code("CM107", "A text that is too large", "A text has up to 64,000 bytes. Long lists of numbers are parameters."),
    Code("CM108", "Too many words", "A text has up to 20,000 words and signs. Long lists of numbers are parameters."),
    Code("CM109", "An invisible character", "It came along with copied text. The quick fix writes a plain space."),
    # ------------------------------------------------------------ grammar
    Code("CM201", "No mask", "A text begins with `mask name(parameters)`."),
    Code("CM202", "Something else was expected", "The message names what should stand there; the quick fix writes it where only one thing is possible."),
    Code("CM203", "A bracket that is never closed", "The picture shows both ends: where the bracket was opened, and where it should be closed at the latest."),
    Code("CM204", "A closing bracket too many", "Nothing is open that it could close."),
    Code("CM205", "Something is missing", "An operator stands without a number or condition, or a name without its value."),
    Code("CM206", "Not a rule", "A rule reads `QUERIES sees KEYS`, and may go on with a condition."),
    Code("CM207", "Two things on one line", "A rule ends at the end of its line. A region ends there or at `;`. Inside a rule, an operator or `and` or `or` is missing."),
    Code("CM208", "A misspelt word", "The word looks like a word of the language; the quick fix writes it."),
    Code("CM209", "A word of the language as a name", "These words are never names of parameters, regions or variables. Upper and lower case differ: `K` is a name, `k` is the key."),
    Code("CM210", "`=` and `==` mixed up", "One sign gives a default or a value, two compare."),
    Code("CM211", "A comma at the end", "Lists end without a comma, so that a number that got lost is noticed."),
    Code("CM212", "Nested too deep", "Brackets, braces, `not` and minus signs go up to 64 deep."),
    Code("CM213", "Too many operators", "One size or condition has up to 128 operators. Rules add up: write several."),
    Code("CM214", "Two bodies", "A mask has either regions and rules, or an expression of other masks behind `=`. To have both, define two masks."),
    Code("CM215", "Not a mask", "An expression of masks joins calls, `documents(lengths)`, by `and`, `or`, `not` and `except`. Conditions belong to rules."),
    Code("CM216", "In the wrong order", "A text gives first the header, then the regions, then the rules."),
    Code("CM217", "Too many", "Parameters, regions, rules, examples and written lists have limits, which the message names."),
    # ------------------------------------------------------------ names and types
    Code("CM301", "An unknown name", "No parameter, index variable or function has this name. If one looks like it, the quick fix writes it."),
    Code("CM302", "A name that is taken", "Every name of a text means one thing. Regions may share a name when one is a query region and the other a key region, or when they stand inside different regions."),
    Code("CM303", "The wrong kind of value", "Sizes, arithmetic and comparisons take numbers; `and`, `or`, `not` and rules take conditions; a list gives numbers by `lengths[i]`, `len`, `sum`, `min` and `max`."),
    Code("CM304", "An unknown region", "Both sides of `sees` name regions. A region inside another is written with both names, `doc[i].P`."),
    Code("CM305", "Axes that do not fit", "A mask has either `tokens`, or `queries` and `keys`, each once and each with a region."),
    Code("CM306", "How many instances?", "A region repeats as often as its list has numbers, `D[i]: lengths[i]`, or as often as is written, `N[i < blocks]: size`."),
    Code("CM307", "Brackets that pick no instance", "Behind a region that repeats, brackets hold one variable. A region that does not repeat has none."),
    Code("CM308", "An index variable without instances", "A variable of a condition must be bound by a region on one side of the rule, whichever regions of both sides meet."),
    Code("CM309", "A coordinate without a grid", "`q.y`, `dx` and their like need regions declared as grids, `img: height x width`."),
    Code("CM310", "An alignment is needed", "Where queries and keys have axes of their own, nothing says which query stands over which key. It is never guessed: write `aligned start` or `aligned end`."),
    Code("CM311", "A default of another type", "The default of a parameter has the parameter's type."),
    Code("CM312", "An example that does not fit", "An example gives values to parameters of the mask, each of its type."),
    Code("CM313", "An example without a value", "An example gives a value to each parameter that has no default."),
    Code("CM314", "No rules", "Whatever no rule says is hidden, so a mask without rules hides all."),
    Code("CM315", "A position outside a rule", "`q` and `k` are positions that a rule asks about. A size is made of parameters and index variables."),
    Code("CM316", "Division by zero", "`//` and `%` need a divisor that is not 0."),
    Code("CM317", "The wrong number of arguments", "`abs` takes one number, `min` and `max` two or more or one list of numbers, `sum` one list or list of lists of numbers, `len` any list."),
    Code("CM331", "An unknown mask", "A call names a mask of the same text, or a preset. If one looks like the name, the quick fix writes it."),
    Code("CM332", "A mask made of itself", "The message shows the chain of calls that leads back to the mask. A mask of the text hides the preset of its name."),
    Code("CM333", "Arguments that do not fit", "A call gives a value to each parameter that has no default, by place or by name, each of its type."),
    Code("CM341", "A range that does not fit", "A range stands behind `int` or a list of them, its lesser end first. The default and the examples of the parameter are in it."),
    Code("CM342", "A table per item or head", "Numbers, bools and lists may differ between the items or heads of a batch; lists of lists may not."),
    Code("CM350", "An order that does not fit", "`tiles` takes one number for each size of its region, `zigzag` the number of ranks, `pages` a list and the size of a page."),
    Code("CM351", "An unused region in a rule", "Places of a region that is declared `unused` hold no token: no rule names it, nor a region around it."),
    # ------------------------------------------------------------ warnings
    Code("CM501", "A parameter that is not used", "Nothing depends on it. Often a size or a condition was forgotten."),
    Code("CM502", "A rule that stands twice", "Rules add up, so the second one changes nothing. Often another region was meant."),
    Code("CM503", "Documentation of nothing", "`##` belongs above the mask, a parameter, a region or a rule, or at the end of its line."),
    Code("CM504", "A minus sign with nothing before it", "A position or instance number with its sign changed is never above 0, so the comparison hardly says what was meant."),
    Code("CM505", "A mask that is not used", "The last mask of a text is the one that the text is about; it, or one that it calls, calls the others."),
)  # fmt: skip
