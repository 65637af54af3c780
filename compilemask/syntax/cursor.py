"""A place in the tokens, and how the parser reads, reports and recovers there."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from compilemask.diagnostics import Diagnostic, Edit, Fix, Label, Span
from compilemask.syntax.limits import MAX_DIAGNOSTICS, MAX_NESTING
from compilemask.syntax.tokens import Token, TokenKind, Tokens
from compilemask.syntax.tree import Name
from compilemask.syntax.words import SYNONYMS

CONTINUES: Final = frozenset({"and", "or", "where", "except", "aligned"})
"""Words that carry a rule on when a line begins with them."""
STATEMENTS: Final = frozenset({"mask", "tokens", "queries", "keys", "assert", "example"})
"""Words that begin a statement wherever they stand."""


class Cursor:
    """Reads tokens one by one. At most one message is given for each token, so that one slip makes one message."""

    def __init__(self, tokens: Tokens, source: str) -> None:
        self.source = source
        self.tokens = tokens.tokens
        self.docs_before = tokens.docs_before
        self.docs_behind = tokens.docs_behind
        self.index = 0
        self.brackets = 0
        self.depth = 0
        self.operators = 0
        self.diagnostics: list[Diagnostic] = []
        self.reported: set[int] = set()
        self.used_docs: set[int] = set()
        self.rule_lines: dict[int, bool] = {}
        self.taken_words: set[str] = set()
        self.lists: set[str] = set()
        """The parameters of the mask that are lists or tables."""
        self.round_message: int | None = None
        """Which message says that an index stands in round brackets, once one does."""

    # ------------------------------------------------------------ reading

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def previous(self) -> Token:
        return self.tokens[max(0, self.index - 1)]

    def ahead(self, count: int) -> Token:
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.token
        if token.kind is not TokenKind.END:
            self.index += 1
        return token

    def at(self, *texts: str) -> bool:
        return any(self.token.is_word(text) for text in texts)

    def at_name(self) -> bool:
        """Whether a name stands here, or a word of the language that this text takes for one."""
        return self.token.kind is TokenKind.NAME or self.token.text in self.taken_words

    def accept(self, text: str) -> Token | None:
        return self.advance() if self.at(text) else None

    def at_line_end(self) -> bool:
        """Whether nothing more of the current statement follows (inside round and square brackets lines run on)."""
        token = self.token
        if token.kind is TokenKind.END or token.text in STATEMENTS or self.at(";", "}"):
            return True
        return token.starts_line and (self.brackets == 0 or self.line_is_rule())

    def line_is_rule(self) -> bool:
        """Whether the line that begins at the current token reads like a rule, names and then `sees`, or an allowance."""
        token, after = self.token, self.ahead(1)
        if not token.starts_line or token.kind is not TokenKind.NAME:
            return False
        allows = token.text == "allow" and after.text in ("empty", "unseen") and not after.starts_line
        return allows or self._reads_like_rule(self.index)

    def _reads_like_rule(self, index: int) -> bool:
        """`line_is_rule` for a line that begins with the name at `index`; lines behind a comma share the answer."""
        lines: list[int] = []
        answer = False
        while index < len(self.tokens) - 1:
            token = self.tokens[index]
            if token.starts_line:
                if index in self.rule_lines:
                    answer = self.rule_lines[index]
                    break
                if lines and not self.tokens[index - 1].is_word(","):
                    break
                lines.append(index)
            if token.is_word("sees"):
                answer = True
                break
            if token.kind not in (TokenKind.NAME, TokenKind.NUMBER) and token.text not in (
                "[",
                "]",
                "(",
                ")",
                ".",
                ",",
            ):
                break
            index += 1
        self.rule_lines.update(dict.fromkeys(lines, answer))
        return answer

    def span_from(self, start: Token | Span) -> Span:
        """From `start` to the end of the last token read."""
        begin = start.start if isinstance(start, Span) else start.span.start
        return Span(begin, max(begin, self.previous.span.stop))

    # ------------------------------------------------------------ documentation

    def doc_before(self) -> str:
        """The documentation above the current token."""
        return self._take(self.docs_before, self.index, 1)

    def doc(self, before: str) -> str:
        """`before`, and the documentation behind the last token read or behind a separator that follows it."""
        index = self.index if self.at(",", ";") else self.index - 1
        behind = self._take(self.docs_behind, index, -1)
        return "\n".join(doc for doc in (before, behind) if doc)

    def _take(self, docs: dict[int, str], index: int, sign: int) -> str:
        if index in docs:
            self.used_docs.add(sign * (index + 1))
            return docs[index]
        return ""

    # ------------------------------------------------------------ reporting

    def here(self) -> Span:
        """Where the current token stands, or the end of the line when the statement ends before it."""
        token = self.token
        if self.index and (token.starts_line or token.kind is TokenKind.END):
            stop = self.previous.span.stop
            return Span(stop, stop)
        return token.span

    def found(self) -> str:
        """What stands here, for a message."""
        token = self.token
        if token.kind is TokenKind.END:
            return "the text ends"
        if token.starts_line and self.index:
            return "the line ends"
        return f"found `{token.text}`"

    def report(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        fixes: tuple[Fix, ...] = (),
        labels: tuple[Label, ...] = (),
    ) -> None:
        """Give a message because the current token is not what it should be, unless one was given about it already."""
        if self.index not in self.reported:
            self.reported.add(self.index)
            self.say(code, message, self.here() if span is None else span, hint, fixes, labels)

    def say(
        self,
        code: str,
        message: str,
        span: Span,
        hint: str | None = None,
        fixes: tuple[Fix, ...] = (),
        labels: tuple[Label, ...] = (),
    ) -> None:
        """Give a message about something that was read and understood."""
        if len(self.diagnostics) <= MAX_DIAGNOSTICS:
            self.diagnostics.append(Diagnostic(code, "error", message, span, labels, hint, fixes))

    def insert(self, text: str, before_token: bool = False) -> Fix:
        """The quick fix that writes `text` at this place: closing signs and separators right behind the last token.

        before_token: before the current token, even when that begins a line.
        """
        place = self.token.span if before_token else self.here()
        offset = self.previous.span.stop if text[0] in ")]},;:" and self.index else place.start
        at = Span(offset, offset)
        words = text[0].isalpha()
        before = (
            " "
            if words and offset and not self.source[offset - 1].isspace() and self.source[offset - 1] not in "([{"
            else ""
        )
        after = " " if words and self.source[offset : offset + 1].strip() not in ("", ")", "]", "}", ";", ",") else ""
        return Fix(f"Insert `{text}`", (Edit(at, before + text + after),))

    def expect(self, text: str, purpose: str, hint: str | None = None) -> Token | None:
        """Read `text`, or say that it is missing. `purpose` goes on from "expected `text`"."""
        if self.at(text):
            return self.advance()
        if self.misspelt(text):
            return self.advance()
        self.report("CM202", f"expected `{text}` {purpose}, but {self.found()}", None, hint, (self.insert(text),))
        return None

    def misspelt(self, *texts: str, first: bool = False) -> str | None:
        """If a name stands here that looks like one of the words, say so; the word that is meant.

        first: the word begins a statement; otherwise a name on a new line belongs to the next one.
        """
        token = self.token
        words = [text for text in texts if text.isalpha()]
        if token.kind is not TokenKind.NAME or not words or (self.at_line_end() and not first):
            return None
        close = [text for text in texts if token.text in SYNONYMS.get(text, ())]
        close = close or difflib.get_close_matches(token.text.lower(), words, n=1, cutoff=0.7)
        if not close:
            return None
        fix = Fix(f"Write `{close[0]}`", (Edit(token.span, close[0]),))
        self.say(
            "CM208", f"`{token.text}` is not a word of the language", token.span, f"did you mean `{close[0]}`?", (fix,)
        )
        return close[0]

    def expect_name(self, purpose: str) -> Name:
        """Read a name; `purpose` goes on from "expected a name". A missing name has text "".

        A word of the language makes one message, where it is first taken for a name; later it means that name.
        """
        token = self.token
        if token.kind is TokenKind.NAME:
            self.advance()
            return Name(token.text, token.span)
        known = token.text in self.taken_words
        if token.kind is TokenKind.KEYWORD and (known or not self.at_line_end()):
            if not known:
                self.taken_words.update({token.text} - STATEMENTS)
                other = token.text.capitalize()
                fix = Fix(f"Rename to `{other}`", (Edit(token.span, other),))
                message = f"`{token.text}` is a word of the language and cannot be a name"
                self.say("CM209", message, token.span, "choose another name; upper and lower case differ", (fix,))
            self.advance()
            return Name(token.text, token.span)
        self.report("CM202", f"expected a name {purpose}, but {self.found()}")
        return Name("", self.here())

    def close(self, opening: Token | None, text: str, what: str) -> bool:
        """Read the closing bracket `text`; if it is missing, point at both ends."""
        if self.accept(text):
            return True
        if self.index not in self.reported:
            labels = (Label(opening.span, f"{what} opened here"),) if opening else ()
            message = f"expected `{text}` to close the {what}, but {self.found()}"
            self.report("CM203", message, None, None, (self.insert(text),), labels)
        return False

    # ------------------------------------------------------------ nesting and recovery

    @contextmanager
    def bracket(self) -> Iterator[None]:
        """Inside round and square brackets a statement runs over lines."""
        self.brackets += 1
        try:
            yield
        finally:
            self.brackets -= 1

    @contextmanager
    def nested(self) -> Iterator[bool]:
        """One level deeper; gives False, with a message, below the limit."""
        self.depth += 1
        try:
            if self.depth > MAX_NESTING:
                self.too_deep()
                yield False
            else:
                yield True
        finally:
            self.depth -= 1

    def too_deep(self) -> None:
        self.report(
            "CM212", f"this is nested more than {MAX_NESTING} deep", self.token.span, "write it with fewer brackets"
        )
        self.skip_to_statement()

    def skip_to_statement(self) -> None:
        """Behind a limit nothing more of a statement is read: go to the next one, over lines that carry this one on."""
        while not (self.token.kind is TokenKind.END or self.token.text in STATEMENTS or self.line_is_rule()):
            if self.at(";", "}"):
                break
            self.advance()
        self.reported.add(self.index)

    def skip_statement(self) -> None:
        """Go to the next place where a statement may begin, over brackets that are still open."""
        first = True
        while self.token.kind is not TokenKind.END:
            token = self.token
            if not first and (token.starts_line or token.text in STATEMENTS):
                break
            if self.at(";", "}") or (first and token.text in STATEMENTS):
                break
            first = False
            self.advance()

    def skip_item(self, *stops: str) -> None:
        """Go to the next comma or closing bracket of a list, or to where the statement surely ends."""
        while self.token.kind is not TokenKind.END and self.token.text not in STATEMENTS:
            if self.at(",", "}", *stops) or self.line_is_rule():
                break
            self.advance()
