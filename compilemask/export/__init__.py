"""Text that rebuilds a mask elsewhere. Knows descriptors and plain text, not the language."""

from compilemask.export.numpy_predicate import MAX_EXPORTED_RUNS, numpy_source
from compilemask.export.python_source import python_source

__all__ = ["MAX_EXPORTED_RUNS", "numpy_source", "python_source"]
