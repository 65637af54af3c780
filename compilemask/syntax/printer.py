"""Tree -> text: the one way to write a mask down. Comments stay, meaning stays, and a second pass changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final, TypeVar

from compilemask.diagnostics import MaskError, Span
from compilemask.syntax.lexer import lex
from compilemask.syntax.mask_spelling import mask_pieces, spell_allowance, spell_claim, spell_masks
from compilemask.syntax.mask_tree import AllowNode, AssertNode, MaskExpression, RegionClaim
from compilemask.syntax.parser import parse
from compilemask.syntax.qualifiers import spell_qualifiers
from compilemask.syntax.spelling import spell, spell_reference, spell_value
from compilemask.syntax.tokens import Comment
from compilemask.syntax.tree import (
    AxisNode,
    ExampleNode,
    Expression,
    Joined,
    Logic,
    MaskTree,
    ParameterNode,
    RegionNode,
    RuleNode,
    SettingNode,
)

WIDTH: Final = 100
"""Columns that a line may have before it is broken, where it can be."""
INDENT: Final = "    "
MAX_ALIGNED: Final = 24
"""Columns of queries up to which the `sees` of neighbouring rules stand under each other."""

Node = TypeVar("Node", ParameterNode, RegionNode, SettingNode)


def format(source: str) -> str:
    """The text in its canonical layout.

    Raises MaskError when the text has a syntax error, because then nobody knows what is meant.
    """
    tree, diagnostics = parse(source)
    errors = [d for d in diagnostics if d.severity == "error"]
    if errors:
        raise MaskError(errors, source)
    return _Printer(source, lex(source).comments).text(tree)


@dataclass(slots=True)
class _Line:
    """A line of the result; `behind` is its comment, which stands in one column with those of its neighbours."""

    text: str
    behind: str = ""


class _Printer:
    """Writes a tree; the comments that are not written yet are in `comments`, in the order of the text."""

    def __init__(self, source: str, comments: Sequence[Comment]) -> None:
        self.source = source
        self.comments = list(comments)
        self.lines: list[_Line] = []

    def text(self, tree: MaskTree) -> str:
        for helper in tree.helpers:
            self.definition(helper)
            self.lines.append(_Line(""))
        self.definition(tree)
        self.above(len(self.source), "")
        return "\n".join(_with_comments(self.lines)).strip("\n") + "\n"

    def definition(self, tree: MaskTree) -> None:
        self.header(tree)
        if tree.body is not None:
            self.body(tree.body, tree.header)
        one_line = all(self.fits(self.padded(axis), axis.regions, axis.span, "") for axis in tree.axes)
        for axis in tree.axes:
            self.axis(axis, pad=one_line and len(tree.axes) > 1)
        statements: list[RuleNode | AssertNode | AllowNode] = sorted(
            [*tree.rules, *tree.assertions, *tree.allowances], key=lambda node: node.span.start
        )
        for are_rules, group in groupby(statements, key=lambda node: isinstance(node, RuleNode)):
            if are_rules:
                self.rules([node for node in group if isinstance(node, RuleNode)])
            else:
                for node in group:
                    if isinstance(node, AssertNode):
                        self.assertion(node)
                    elif isinstance(node, AllowNode):
                        self.begin(node.span, "")
                        self.put(f"allow {spell_allowance(node)}")
                        self.behind(node.span.stop)
        for example in tree.examples:
            self.example(example)

    # ------------------------------------------------------------ lines and comments

    def put(self, text: str, start: int | None = None) -> None:
        """Write a line; if `start` is given and an empty line stands before it in the source, keep one."""
        if start is not None:
            self.gap(start)
        self.lines.append(_Line(text))

    def gap(self, start: int) -> None:
        """Keep one empty line that stands before `start` in the source, except behind an open bracket."""
        last = self.lines[-1].text if self.lines else ""
        if last and not last.endswith(("{", "(")) and self.blank_before(start):
            self.lines.append(_Line(""))

    def blank_before(self, start: int) -> bool:
        before = self.source[:start]
        space = before[len(before.rstrip()) :].replace("\r\n", "\n").replace("\r", "\n")
        return space.count("\n") >= 2

    def above(self, offset: int, indent: str) -> None:
        """Write the comments before `offset` on lines of their own."""
        while self.comments and self.comments[0].span.start < offset:
            comment = self.comments.pop(0)
            self.put(indent + comment.text.rstrip(), comment.span.start)

    def begin(self, span: Span, indent: str) -> None:
        """Write what stands above something at `span`, and the comments inside it, which go above it too."""
        self.above(span.start, indent)
        self.gap(span.start)
        while self.comments and self.comments[0].span.start < span.stop:
            self.put(indent + self.comments.pop(0).text.rstrip())

    def behind(self, stop: int) -> None:
        """Put the comment that stands behind `stop` on the same line behind the last line."""
        if self.comments:
            comment = self.comments[0]
            if comment.span.start >= stop and not self.source[stop : comment.span.start].strip(" \t,;"):
                self.comments.pop(0)
                self.lines[-1].behind = comment.text.rstrip()

    def is_one_line(self, span: Span) -> bool:
        text = self.source[span.start : span.stop]
        return not ("\n" in text or "\r" in text or "#" in text)

    def listed(
        self, nodes: Sequence[Node], spelled: Callable[[Node, str], None], indent: str, separator: str, stop: int
    ) -> None:
        """Write the nodes one below the other, with their comments; `stop` is where their list ends."""
        for node in nodes:
            self.above(node.span.start, indent)
            spelled(node, indent)
            if node is not nodes[-1]:
                self.lines[-1].text += separator
            self.behind(node.span.stop)
        self.above(stop, indent)

    # ------------------------------------------------------------ header

    def header(self, tree: MaskTree) -> None:
        span = tree.header
        self.above(span.start, "")
        one = f"mask {tree.name.text}({', '.join(self.parameter(p) for p in tree.parameters)})"
        if self.is_one_line(span) and len(one) <= WIDTH:
            self.put(one, span.start)
        else:
            self.put(f"mask {tree.name.text}(", span.start)
            self.listed(tree.parameters, self.parameter_line, INDENT, ",", span.stop)
            self.put(")")
        self.behind(span.stop)

    def parameter_line(self, node: ParameterNode, indent: str) -> None:
        self.begin(node.span, indent)
        self.put(indent + self.parameter(node))

    def parameter(self, node: ParameterNode) -> str:
        default = "" if node.default is None else " = " + "".join(spell_value(node.default, self.source))
        return f"{node.name.text}: {node.type}{spell_qualifiers(node, self.source)}{default}"

    def body(self, node: MaskExpression, header: Span) -> None:
        """The expression of a mask made of masks; broken where the author broke it, or everywhere when it is too long."""
        between = self.source[header.stop : node.span.start]
        pieces = [(word, spell_masks(piece, self.source), piece) for word, piece in mask_pieces(node)]
        first = f"{self.lines[-1].text} = {pieces[0][1]}"
        commented = bool(self.comments) and self.comments[0].span.start < node.span.stop
        if "\n" in between or "\r" in between or commented or self.lines[-1].behind or len(first) > WIDTH:
            self.begin(node.span, INDENT)
            self.lines.append(_Line(f"{INDENT}= {pieces[0][1]}"))
        else:
            self.lines[-1].text = first
        kept, everywhere = [self.lines[-1].text], [self.lines[-1].text]
        for (_, _, previous), (word, text, piece) in pairwise(pieces):
            everywhere.append(f"{INDENT}{word} {text}")
            if self.newline_between(previous.span, piece.span):
                kept.append(everywhere[-1])
            else:
                kept[-1] += f" {word} {text}"
        lines = kept if all(len(line) <= WIDTH for line in kept) else everywhere
        self.lines[-1:] = [_Line(line) for line in lines]
        self.behind(node.span.stop)

    # ------------------------------------------------------------ regions

    def axis(self, node: AxisNode, pad: bool) -> None:
        self.above(node.span.start, "")
        self.block(self.padded(node) if pad else node.kind, node.regions, node.span, "")
        self.behind(node.span.stop)

    def padded(self, node: AxisNode) -> str:
        """`keys` as wide as `queries`, for two axes that both stand on one line."""
        return node.kind.ljust(7) if node.kind == "keys" else node.kind

    def fits(self, start: str, regions: Sequence[RegionNode], span: Span, indent: str) -> bool:
        """Whether a block stays on the one line on which it stands."""
        return self.is_one_line(span) and len(self.one_line(start, regions, indent)) <= WIDTH

    def one_line(self, start: str, regions: Sequence[RegionNode], indent: str) -> str:
        return f"{indent}{start} {{ {'; '.join(self.region(region) for region in regions)} }}"

    def block(self, start: str, regions: Sequence[RegionNode], span: Span, indent: str) -> None:
        if self.fits(start, regions, span, indent):
            self.put(self.one_line(start, regions, indent), span.start)
            return
        self.put(f"{indent}{start} {{", span.start)
        self.listed(regions, self.region_lines, indent + INDENT, "", span.stop)
        self.put(f"{indent}}}")

    def region_lines(self, node: RegionNode, indent: str) -> None:
        if node.children is None:
            self.begin(node.span, indent)
            self.put(indent + self.region(node))
        else:
            self.block(self.region_name(node), node.children, node.span, indent)

    def region_name(self, node: RegionNode) -> str:
        if node.index is None:
            return node.name.text
        count = "" if node.count is None else f" < {spell(node.count, self.source)}"
        return f"{node.name.text}[{node.index.text}{count}]"

    def region(self, node: RegionNode) -> str:
        if node.children is not None:
            return f"{self.region_name(node)} {{ {'; '.join(self.region(child) for child in node.children)} }}"
        stored = ""
        if node.stored is not None:
            arguments = ", ".join(spell(number, self.source) for number in node.stored.arguments)
            stored = f" stored {node.stored.order}({arguments})"
        if node.unused is not None:
            stored += " unused"
        return f"{self.region_name(node)}: {' x '.join(spell(size, self.source) for size in node.extent)}{stored}"

    # ------------------------------------------------------------ rules

    def rules(self, rules: Sequence[RuleNode]) -> None:
        """Neighbouring rules without a line between them form a group, whose `sees` stand under each other."""
        group: list[RuleNode] = []
        for rule in rules:
            apart = self.blank_before(rule.span.start) or (
                group and self.comments_between(group[-1].span.stop, rule.span)
            )
            if apart:
                self.rule_group(group)
                group = []
            group.append(rule)
        self.rule_group(group)

    def comments_between(self, stop: int, span: Span) -> bool:
        """Whether a comment will stand on a line of its own between a rule that ends at `stop` and the next one."""
        return any(
            stop < comment.span.start < span.stop and (comment.own_line or comment.span.start > span.start)
            for comment in self.comments
        )

    def rule_group(self, group: Sequence[RuleNode]) -> None:
        widths = [len(", ".join(map(spell_reference, rule.queries))) for rule in group]
        width = max(widths, default=0)
        width = width if width <= MAX_ALIGNED else 0
        for rule in group:
            self.begin(rule.span, "")
            for line in self.rule(rule, width):
                self.put(line)
            self.behind(rule.span.stop)

    def rule(self, node: RuleNode, width: int) -> list[str]:
        """The lines of a rule; the condition is broken where the author broke it, or everywhere when it is too long."""
        queries = ", ".join(map(spell_reference, node.queries))
        start = f"{queries.ljust(width)} sees {', '.join(map(spell_reference, node.keys))}"
        lines = [start] if len(start) <= WIDTH else _wrapped_references(node)
        pieces = [] if node.condition is None else _pieces(node.condition)
        kept, everywhere = list(lines), list(lines)
        for place, (word, piece) in enumerate(pieces):
            text = (f"{word} " if word else "") + spell(piece, self.source)
            if place and self.newline_between(pieces[place - 1][1].span, piece.span):
                kept.append(INDENT + text)
            else:
                kept[-1] += " " + text
            if place:
                everywhere.append(INDENT + text)
            else:
                everywhere[-1] += " " + text
        return kept if all(len(line) <= WIDTH for line in kept) else everywhere

    def newline_between(self, previous: Span, piece: Span) -> bool:
        between = self.source[previous.stop : piece.start]
        return "\n" in between or "\r" in between

    def assertion(self, node: AssertNode) -> None:
        self.begin(node.span, "")
        claim = node.claim
        one = f"assert {spell_claim(claim, self.source)}"
        if isinstance(claim, RegionClaim) and claim.condition is not None and len(one) > WIDTH:
            rule = RuleNode(claim.queries, claim.keys, claim.condition, "", claim.span)
            first, *others = self.rule(rule, 0)
            if " sees " in first:
                one = "\n".join([f"assert {first.replace(' sees ', f' {claim.verb} ', 1)}", *others])
        for line in one.split("\n"):
            self.put(line)
        self.behind(node.span.stop)

    # ------------------------------------------------------------ examples

    def example(self, node: ExampleNode) -> None:
        self.above(node.span.start, "")
        one = f"example {node.name.text}({', '.join(self.setting(s) for s in node.settings)})"
        if self.is_one_line(node.span) and len(one) <= WIDTH:
            self.put(one, node.span.start)
        else:
            self.put(f"example {node.name.text}(", node.span.start)
            self.listed(node.settings, self.setting_lines, INDENT, ",", node.span.stop)
            self.put(")")
        self.behind(node.span.stop)

    def setting(self, node: SettingNode) -> str:
        return f"{node.name.text} = {''.join(spell_value(node.value, self.source))}"

    def setting_lines(self, node: SettingNode, indent: str) -> None:
        """One value; a long list is broken into lines of even width."""
        self.begin(node.span, indent)
        if len(indent + self.setting(node)) < WIDTH:
            self.put(indent + self.setting(node))
            return
        line = f"{indent}{node.name.text} = "
        for piece in spell_value(node.value, self.source):
            if len(line + piece.rstrip()) >= WIDTH:
                self.put(line.rstrip())
                line = indent + INDENT
            line += piece
        self.put(line)


def _pieces(node: Expression) -> list[tuple[str, Expression]]:
    """A condition cut at its outermost joining words: the word before each piece, and the piece."""
    match node:
        case Joined(word, left, right, _):
            (_, first), *others = _pieces(right)
            return [*([] if left is None else _pieces(left)), (word, first), *others]
        case Logic(word, items, _):
            return [("" if item is items[0] else word, item) for item in items]
        case _:
            return [("", node)]


def _wrapped_references(node: RuleNode) -> list[str]:
    """Long lists of regions over several lines, broken behind commas."""
    words = [spell_reference(r) + "," for r in node.queries[:-1]] + [spell_reference(node.queries[-1]) + " sees"]
    words += [spell_reference(r) + "," for r in node.keys[:-1]] + [spell_reference(node.keys[-1])]
    lines = [""]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > WIDTH and lines[-1].endswith((",", "sees")):
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return [lines[0], *(INDENT + line for line in lines[1:])]


def _with_comments(lines: Sequence[_Line]) -> list[str]:
    """The lines with the comments behind them, which stand in one column as long as every line has one."""
    result: list[str] = []
    for commented, group in groupby(lines, key=lambda line: bool(line.behind)):
        block = list(group)
        column = max(len(line.text) for line in block)
        result += [f"{line.text.ljust(column)}  {line.behind}" if commented else line.text.rstrip() for line in block]
    return result
