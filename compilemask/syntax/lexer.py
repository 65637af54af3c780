"""Text -> tokens. Never raises: what is no token is a diagnostic and is left out."""

from __future__ import annotations

import re
from typing import Final

from compilemask.diagnostics import Diagnostic, Edit, Fix, Label, Span
from compilemask.syntax.limits import MAX_DIAGNOSTICS, MAX_NAME_LENGTH, MAX_NUMBER, MAX_SOURCE_BYTES, MAX_TOKENS
from compilemask.syntax.tokens import Comment, Token, TokenKind, Tokens
from compilemask.syntax.words import FOREIGN, POWERS, RESERVED, SYMBOLS

_MAX_DIGITS: Final = len(str(MAX_NUMBER))
_SPACE: Final = re.compile(r"[ \t\r\n\f\v]+")
_COMMENT: Final = re.compile(r"#[^\n\r]*")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_NUMBER: Final = re.compile(r"[0-9][0-9_]*")
_DECIMAL: Final = re.compile(r"\.[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?")
_SHORT_DECIMAL: Final = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GRID_WORD: Final = re.compile(r"(?:x[0-9]+)+")
_SIGNS: Final = sorted([*SYMBOLS, *FOREIGN, *POWERS], key=len, reverse=True)
_ODD_SPACE: Final = frozenset("\u00a0\u1680\u202f\u205f\u3000\ufeff\u200b\u200c\u200d\u2060\u0085\u2028\u2029") | {
    chr(c) for c in range(0x2000, 0x200B)
}


def lex(source: str) -> Tokens:
    """Cut `source` into tokens. The last token is END; spans are code points of `source`."""
    return _Lexer(source).run()


class _Lexer:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.tokens: list[Token] = []
        self.comments: list[Comment] = []
        self.diagnostics: list[Diagnostic] = []
        self.docs_before: dict[int, str] = {}
        self.docs_behind: dict[int, str] = {}
        self.pending: list[str] = []
        self.fresh_line = True
        self.complete = True
        self.odd_names: set[str] = set()

    def run(self) -> Tokens:
        if not self.too_large():
            while self.at < len(self.source) and self.complete_enough():
                self.step()
        self.push(TokenKind.END, "", Span(len(self.source), len(self.source)))
        return Tokens(
            tuple(self.tokens),
            tuple(self.comments),
            tuple(self.diagnostics[:MAX_DIAGNOSTICS]),
            self.complete,
            self.docs_before,
            self.docs_behind,
        )

    def too_large(self) -> bool:
        characters = len(self.source)
        if characters <= MAX_SOURCE_BYTES:
            size = len(self.source.encode("utf-8", errors="surrogatepass"))
            if size <= MAX_SOURCE_BYTES:
                return False
            shown = f"{size:,} bytes"
        else:
            # a character takes a byte or more: nothing of a text that is too long is looked at
            shown = f"{characters:,} characters"
        limit = min(MAX_SOURCE_BYTES, characters)
        message = f"this text has {shown}; a mask may have {MAX_SOURCE_BYTES:,} bytes"
        self.report("CM107", message, Span(limit, limit), "a mask is a few lines; put long lists into parameters")
        return True

    def complete_enough(self) -> bool:
        if len(self.tokens) < MAX_TOKENS:
            return True
        message = f"this text has more than {MAX_TOKENS:,} words and signs"
        self.report("CM108", message, Span(self.at, self.at), "put long lists into parameters")
        return False

    def report(
        self, code: str, message: str, span: Span, hint: str | None = None, *fixes: Fix, labels: tuple[Label, ...] = ()
    ) -> None:
        self.complete = False
        if len(self.diagnostics) <= MAX_DIAGNOSTICS:
            self.diagnostics.append(Diagnostic(code, "error", message, span, labels, hint, fixes))

    def push(self, kind: TokenKind, text: str, span: Span, value: int = 0) -> None:
        if self.pending:
            self.docs_before[len(self.tokens)] = "\n".join(self.pending)
            self.pending = []
        self.tokens.append(Token(kind, text, span, self.fresh_line or kind is TokenKind.END, value))
        self.fresh_line = False
        self.at = span.stop

    def step(self) -> None:
        source, at = self.source, self.at
        if found := _SPACE.match(source, at):
            self.fresh_line = self.fresh_line or "\n" in found[0] or "\r" in found[0]
            self.at = found.end()
        elif found := _COMMENT.match(source, at):
            self.comment(found[0])
        elif found := _NUMBER.match(source, at):
            self.number(found[0])
        elif found := _WORD.match(source, at):
            self.word(found[0])
        elif sign := next((s for s in _SIGNS if source.startswith(s, at)), None):
            self.sign(sign)
        else:
            self.unknown()

    def comment(self, text: str) -> None:
        documentation = text.startswith("##") and not text.startswith("###")
        span = Span(self.at, self.at + len(text))
        self.comments.append(Comment(text, span, documentation, self.fresh_line, len(self.tokens)))
        if documentation:
            words = text[2:].removeprefix(" ").rstrip()
            if self.fresh_line:
                self.pending.append(words)
            else:
                self.docs_behind[len(self.tokens) - 1] = words
        self.at = span.stop

    def number(self, text: str) -> None:
        span = Span(self.at, self.at + len(text))
        decimal = _DECIMAL.match(self.source, span.stop)
        if decimal and self.after_density() and _SHORT_DECIMAL.fullmatch(text + decimal[0]):
            self.push(TokenKind.DECIMAL, text + decimal[0], Span(span.start, decimal.end()))
            return
        if decimal and self.after_density():
            span = Span(span.start, decimal.end())
            message = "a density is written with up to 9 digits on each side of its point, and no exponent"
            self.report("CM103", message, span, "write fewer digits: `density < 0.3`")
        elif decimal:
            span = Span(span.start, decimal.end())
            whole = text[: _MAX_DIGITS + 3]
            fix = Fix(f"Write `{whole}`", (Edit(span, whole),))
            self.report("CM103", "numbers are whole", span, "leave the decimals out", fix)
        self.number_token(text, span)
        if word := _WORD.match(self.source, span.stop):
            self.glued(span, word[0])

    def after_density(self) -> bool:
        """Whether a decimal number may stand here: behind `density` and a comparison."""
        last = [token.text for token in self.tokens[-2:]]
        return len(last) == 2 and last[0] == "density" and last[1] in ("<", "<=", "==", "!=", ">", ">=", "=")

    def number_token(self, text: str, span: Span) -> None:
        digits = text.replace("_", "").lstrip("0") or "0"
        value = int(digits) if len(digits) <= _MAX_DIGITS else MAX_NUMBER + 1
        if value > MAX_NUMBER:
            shown = digits if len(digits) <= 20 else f"{digits[:8]}... ({len(digits)} digits)"
            self.report("CM104", f"the number {shown} is too great", span, f"the greatest is {MAX_NUMBER:,}")
            value = MAX_NUMBER
        self.push(TokenKind.NUMBER, str(value), span, value)

    def glued(self, span: Span, word: str) -> None:
        """A number with letters behind it: a grid without spaces, or a slip that is read as one number."""
        whole = Span(span.start, span.stop + len(word))
        number = self.source[span.start : span.stop]
        if word == "x" or _GRID_WORD.fullmatch(word):
            text = (number + word.replace("x", " x ")).rstrip()
            fix = Fix(f"Write `{text}`", (Edit(whole, text),))
            self.report("CM103", "a grid needs spaces around its `x`", whole, f"write `{text}`", fix)
            for piece in re.finditer(r"x|[0-9]+", word):
                place = Span(span.stop + piece.start(), span.stop + piece.end())
                if piece[0] == "x":
                    self.push(TokenKind.KEYWORD, "x", place)
                else:
                    self.number_token(piece[0], place)
            return
        fix = Fix("Insert `*`", (Edit(Span(span.stop, span.stop), "*"),))
        shown = self.source[whole.start : min(whole.stop, whole.start + 40)]
        hint = "names begin with a letter; a product is written with `*`"
        self.report("CM103", f"`{shown}` is neither a number nor a name", whole, hint, fix)
        self.at = whole.stop

    def word(self, text: str) -> None:
        span = Span(self.at, self.at + len(text))
        if not _PLAIN_NAME.fullmatch(text) and text not in self.odd_names:
            self.odd_names.add(text)
            odd = next(c for c in text if not (c.isascii() and (c.isalnum() or c == "_")))
            message = f"{show_character(odd)} cannot stand in a name"
            self.report("CM105", message, span, "names are made of the letters a-z and A-Z, digits and `_`")
        elif len(text) > MAX_NAME_LENGTH:
            message = f"this name has {len(text)} characters; a name may have {MAX_NAME_LENGTH}"
            self.report("CM106", message, span, "choose a shorter name")
            text = text[:MAX_NAME_LENGTH]
        self.push(TokenKind.KEYWORD if text in RESERVED else TokenKind.NAME, text, span)

    def sign(self, sign: str) -> None:
        span = Span(self.at, self.at + len(sign))
        if sign in POWERS:
            self.report(
                "CM102", f"`{sign}` is not a sign of this language", span, "write a power as a product: `dx*dx`"
            )
            self.push(TokenKind.SYMBOL, "*", span)
            return
        if sign not in FOREIGN:
            self.push(TokenKind.SYMBOL, sign, span)
            return
        meant, why = FOREIGN[sign]
        before = self.source[span.start - 1 : span.start]
        after = self.source[span.stop : span.stop + 1]
        spelling = meant
        if meant.isalpha():
            spelling = (
                ("" if before in (" ", "\t", "(", "\n", "") else " ")
                + meant
                + ("" if after in (" ", "\t", "\n", "") else " ")
            )
        fix = Fix(f"Write `{meant}`", (Edit(span, spelling),))
        self.report("CM102", f"`{sign}` is not a sign of this language; here it is `{meant}`", span, why, fix)
        self.push(TokenKind.KEYWORD if meant in RESERVED else TokenKind.SYMBOL, meant, span)

    def unknown(self) -> None:
        start = self.at
        character = self.source[start]
        self.at += 1
        if _is_odd_space(character):
            while self.at < len(self.source) and _is_odd_space(self.source[self.at]):
                self.at += 1
            span = Span(start, self.at)
            if start == 0 and span.stop == 1 and character == "\ufeff":
                return
            fix = Fix("Write a plain space", (Edit(span, " "),))
            self.report(
                "CM109", f"an invisible character, {show_character(character)}", span, "write a plain space", fix
            )
            return
        while self.at < len(self.source) and not self.known():
            self.at += 1
        span = Span(start, self.at)
        fix = Fix("Remove it", (Edit(span, ""),))
        self.report("CM101", f"{show_character(character)} means nothing in this language", span, "remove it", fix)

    def known(self) -> bool:
        source, at = self.source, self.at
        if source[at] == "#" or _is_odd_space(source[at]) or _SPACE.match(source, at):
            return True
        if _WORD.match(source, at) or _NUMBER.match(source, at):
            return True
        return any(source.startswith(s, at) for s in _SIGNS)


def _is_odd_space(character: str) -> bool:
    return character in _ODD_SPACE or (character.isspace() and not _SPACE.match(character))


def show_character(character: str) -> str:
    """A character for a message: itself if it can be seen, and always its code point if it is not ASCII."""
    if character.isascii() and character.isprintable():
        return f"`{character}`"
    point = f"U+{ord(character):04X}"
    return f"`{character}` ({point})" if character.isprintable() and not character.isspace() else point
