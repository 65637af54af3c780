"""Scripts that measure on a GPU; each says in its docstring how it is run."""
