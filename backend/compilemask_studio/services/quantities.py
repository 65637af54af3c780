"""Quantities inside sentences, as the page writes them: 6.42 µs, 1.2 ms, 35 %."""

from __future__ import annotations


def duration(milliseconds: float) -> str:
    """Three significant digits, in microseconds below a tenth of a millisecond."""
    return f"{milliseconds * 1000:.3g} µs" if milliseconds < 0.1 else f"{milliseconds:.3g} ms"


def percent(share: float, sign: str = "") -> str:
    """A share in whole percent; `sign` "+" writes the sign of gains, too."""
    return f"{share:{sign}.0%}".replace("%", " %")
