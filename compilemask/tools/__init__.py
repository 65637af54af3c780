"""What editors ask about a text: completion, hover and symbols. Pure functions of any text, also of a broken one."""

from compilemask.tools.completion import Completion, complete
from compilemask.tools.hover import Hover, hover
from compilemask.tools.symbols import Symbol, symbols

__all__ = ["Completion", "Hover", "Symbol", "complete", "hover", "symbols"]
