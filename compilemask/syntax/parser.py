"""Text -> tree. Never raises: every slip is a diagnostic, and reading goes on behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from compilemask.diagnostics import Diagnostic, Edit, Fix, Label, Span
from compilemask.syntax.allowances import begins_allowance, parse_allowance
from compilemask.syntax.assertions import parse_assertion
from compilemask.syntax.compositions import parse_masks
from compilemask.syntax.cursor import Cursor
from compilemask.syntax.header import parse_example, parse_header
from compilemask.syntax.lexer import lex
from compilemask.syntax.limits import MAX_DIAGNOSTICS, MAX_MASKS
from compilemask.syntax.mask_tree import AllowNode, AssertNode, MaskExpression
from compilemask.syntax.regions import parse_axis
from compilemask.syntax.rules import parse_rule
from compilemask.syntax.tokens import TokenKind, Tokens
from compilemask.syntax.tree import AxisNode, ExampleNode, MaskTree, Name, ParameterNode, RuleNode

_OUTLINE = "a text begins with `mask name(parameters)`, then names regions, then says which see which"


def parse(source: str) -> tuple[MaskTree, tuple[Diagnostic, ...]]:
    """Read a mask text.

    Returns the tree and the messages, in the order of the text. The tree is there whatever the text is; its `complete`
    is false when there are messages, because parts of it are then a guess.
    """
    tokens = lex(source)
    parser = _Parser(Cursor(tokens, source))
    if not any(d.code in ("CM107", "CM108") for d in tokens.diagnostics):
        parser.run()
    found = [*tokens.diagnostics, *parser.cursor.diagnostics]
    complete = not found
    if complete:
        found += _idle_documentation(tokens, parser.cursor.used_docs)
    found.sort(key=lambda d: (d.span.start, d.span.stop, d.code))
    if len(found) > MAX_DIAGNOSTICS:
        found = found[:MAX_DIAGNOSTICS]
    return parser.tree(source, complete), tuple(found)


@dataclass
class _Definition:
    """One mask of the text, as far as it is read."""

    name: Name = field(default_factory=lambda: Name("", Span(0, 0)))
    header: Span | None = None
    doc: str = ""
    parameters: tuple[ParameterNode, ...] = ()
    axes: list[AxisNode] = field(default_factory=list)
    rules: list[RuleNode] = field(default_factory=list)
    assertions: list[AssertNode] = field(default_factory=list)
    allowances: list[AllowNode] = field(default_factory=list)
    examples: list[ExampleNode] = field(default_factory=list)
    body: MaskExpression | None = None

    def tree(self, span: Span, complete: bool, helpers: tuple[MaskTree, ...] = ()) -> MaskTree:
        return MaskTree(
            self.name,
            self.parameters,
            tuple(self.axes),
            tuple(self.rules),
            tuple(self.examples),
            self.doc,
            self.header if self.header is not None else Span(0, 0),
            span,
            complete,
            self.body,
            tuple(self.assertions),
            helpers,
            tuple(self.allowances),
        )


@dataclass
class _Parser:
    """Reads definition after definition. done: those before the one that is being read, each with its end."""

    cursor: Cursor
    mask: _Definition = field(default_factory=_Definition)
    done: list[tuple[_Definition, int]] = field(default_factory=list)

    def tree(self, source: str, complete: bool) -> MaskTree:
        """The last definition, with those before it as its helpers."""
        starts = [0, *(stop for _, stop in self.done)]
        helpers = tuple(
            mask.tree(Span(start, stop), complete) for start, (mask, stop) in zip(starts, self.done, strict=False)
        )
        return self.mask.tree(Span(starts[-1], len(source)), complete, helpers)

    def run(self) -> None:
        self.first()
        cursor = self.cursor
        while cursor.token.kind is not TokenKind.END:
            before = cursor.index
            self.statement()
            if cursor.index == before:
                cursor.advance()

    def first(self) -> None:
        """The header, or the message that there is none."""
        cursor = self.cursor
        if cursor.at("mask") or self.headless():
            self.read_header()
        elif cursor.token.kind is TokenKind.END:
            cursor.report("CM201", "there is no mask in this text", Span(0, 0), _OUTLINE)
        else:
            cursor.say("CM201", "the text does not begin with a mask", cursor.token.span, _OUTLINE, _header_fix(cursor))
            self.find_beginning()

    def find_beginning(self) -> None:
        """Go to the first line that begins like a mask text, so that one strange beginning makes one message."""
        cursor = self.cursor
        starts = ("mask", "tokens", "queries", "keys")
        while cursor.token.kind is not TokenKind.END and not (cursor.token.starts_line and cursor.token.text in starts):
            cursor.advance()
        if cursor.at("mask"):
            self.read_header()

    def headless(self) -> bool:
        """Whether the text begins like a header whose word `mask` is missing or misspelt."""
        cursor = self.cursor
        if cursor.misspelt("mask", first=True):
            cursor.advance()
            return True
        if cursor.token.kind in (TokenKind.NAME, TokenKind.KEYWORD) and cursor.ahead(1).is_word("("):
            cursor.report(
                "CM201",
                "the text does not begin with a mask",
                cursor.token.span,
                _OUTLINE,
                (cursor.insert("mask", before_token=True),),
            )
            return True
        return False

    def read_header(self) -> None:
        cursor = self.cursor
        start = cursor.token
        mask = self.mask
        mask.name, mask.parameters, mask.doc = parse_header(cursor)
        cursor.lists = {p.name.text for p in mask.parameters if p.type is not None and p.type.endswith("[]")}
        mask.header = cursor.span_from(start)
        if cursor.at("="):
            cursor.advance()
            mask.body = parse_masks(cursor)
            self.line_end("the expression")
        elif cursor.at(":") or (cursor.at("{") and cursor.ahead(1).text in ("tokens", "queries", "keys")):
            token = cursor.token
            fix = Fix(f"Remove `{token.text}`", (Edit(token.span, ""),))
            cursor.report(
                "CM202", f"expected a new line after the header, found `{token.text}`", token.span, None, (fix,)
            )
            cursor.advance()

    def statement(self) -> None:
        cursor = self.cursor
        token = cursor.token
        match token.text if token.kind in (TokenKind.KEYWORD, TokenKind.SYMBOL) else "":
            case "tokens" | "queries" | "keys":
                cursor.advance()
                self.axis(_kind(token.text))
            case "assert":
                assertion = parse_assertion(cursor)
                if assertion is not None:
                    self.mask.assertions.append(assertion)
            case "example":
                self.mask.examples.append(parse_example(cursor))
                self.line_end("the example")
            case "mask":
                self.next_mask()
            case "{":
                cursor.report(
                    "CM202",
                    "expected `tokens` before `{`",
                    token.span,
                    None,
                    (cursor.insert("tokens", before_token=True),),
                )
                self.axis("tokens")
            case "}" | ")" | "]":
                fix = Fix(f"Remove `{token.text}`", (Edit(token.span, ""),))
                cursor.report("CM204", f"`{token.text}` closes nothing", token.span, "remove it", (fix,))
                cursor.advance()
            case ";":
                cursor.advance()
            case _:
                self.named()

    def named(self) -> None:
        """A statement that begins with a name, or with something else that should be one."""
        cursor = self.cursor
        token = cursor.token
        after = cursor.ahead(1)
        if begins_allowance(cursor):
            allowance = parse_allowance(cursor)
            if allowance is not None:
                self.mask.allowances.append(allowance)
                self.line_end("the allowance")
        elif token.kind is TokenKind.NAME and after.is_word("{"):
            self.misnamed_axis()
        elif (
            token.kind is TokenKind.NAME
            and not cursor.line_is_rule()
            and (after.is_word("(") or (after.kind is TokenKind.NAME and cursor.ahead(2).is_word("(")))
        ):
            if cursor.misspelt("example", first=True):
                cursor.advance()
            else:
                cursor.report(
                    "CM202",
                    f"expected `example` or a rule, found `{token.text}`",
                    token.span,
                    None,
                    (cursor.insert("example", before_token=True),),
                )
            self.mask.examples.append(parse_example(cursor))
            self.line_end("the example")
        elif token.kind is TokenKind.NAME or token.is_word("sees") or self.reserved_reference():
            if self.mask.body is not None:
                self.two_bodies(token.span)
            elif not self.mask.axes and not self.mask.rules:
                cursor.say("CM216", "the regions come before the rules", token.span, "write `tokens { .. }` first")
            rule = parse_rule(cursor)
            if rule is not None:
                self.mask.rules.append(rule)
        else:
            cursor.report(
                "CM206",
                f"no statement begins with `{token.text}`",
                token.span,
                "a rule begins with the name of a region",
            )
            cursor.skip_statement()

    def reserved_reference(self) -> bool:
        after = self.cursor.ahead(1)
        return self.cursor.token.kind is TokenKind.KEYWORD and (after.text in ("sees", ",", "[", "."))

    def misnamed_axis(self) -> None:
        cursor = self.cursor
        word = cursor.misspelt("tokens", "queries", "keys", first=True)
        if word is None:
            hint = "regions stand in `tokens { .. }`, or in `queries { .. }` and `keys { .. }`"
            cursor.report("CM208", f"`{cursor.token.text}` is not a word of the language", cursor.token.span, hint)
        cursor.advance()
        self.axis(_kind(word or "tokens"))

    def axis(self, kind: Literal["tokens", "queries", "keys"]) -> None:
        self.two_bodies(self.cursor.previous.span)
        self.mask.axes.append(parse_axis(self.cursor, kind))

    def two_bodies(self, span: Span) -> None:
        """The message about regions or rules behind an expression, once for each mask."""
        mask = self.mask
        if mask.body is not None and not mask.axes and not mask.rules:
            hint = "give the regions and rules a mask of their own, and call it here"
            labels = (Label(mask.body.span, "made of masks here"),)
            message = "a mask has either regions and rules, or an expression of masks"
            self.cursor.say("CM214", message, span, hint, (), labels)

    def next_mask(self) -> None:
        """Another definition begins; the one before it is a helper then."""
        cursor = self.cursor
        if self.mask.header is None:
            cursor.say("CM216", "the mask's header comes first", cursor.token.span, "move it to the beginning")
            self.read_header()
            return
        if len(self.done) + 1 == MAX_MASKS:
            hint = "put masks that stand for themselves into texts of their own"
            cursor.say("CM217", f"a text may have {MAX_MASKS} masks, and this is one more", cursor.token.span, hint)
            cursor.index = len(cursor.tokens) - 1
            return
        self.done.append((self.mask, cursor.previous.span.stop))
        self.mask = _Definition()
        self.read_header()

    def line_end(self, what: str) -> None:
        cursor = self.cursor
        if cursor.at_line_end() or cursor.token.starts_line:
            return
        cursor.report("CM207", f"expected a new line after {what}, but {cursor.found()}", cursor.token.span)
        cursor.skip_statement()


def _idle_documentation(tokens: Tokens, used: set[int]) -> list[Diagnostic]:
    """Warnings about documentation that documents nothing."""
    hint = "it belongs above, or at the end of the line of, the mask, a parameter, a region or a rule; a plain comment has one `#`"
    idle = []
    for comment in tokens.comments:
        key = comment.before + 1 if comment.own_line else -comment.before
        if comment.documentation and key not in used:
            fix = Fix("Make it a plain comment", (Edit(Span(comment.span.start, comment.span.start + 1), ""),))
            message = "this documents nothing"
            idle.append(Diagnostic("CM503", "warning", message, comment.span, (), hint, (fix,)))
    return idle


def _kind(word: str) -> Literal["tokens", "queries", "keys"]:
    return "queries" if word == "queries" else "keys" if word == "keys" else "tokens"


def _header_fix(cursor: Cursor) -> tuple[Fix, ...]:
    """The quick fix that writes a header, where regions follow it."""
    if not cursor.at("tokens", "queries", "keys"):
        return ()
    at = Span(cursor.token.span.start, cursor.token.span.start)
    return (Fix("Insert a header", (Edit(at, "mask name(n: int)\n"),)),)
