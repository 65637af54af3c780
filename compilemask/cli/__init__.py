"""The command line: check, show, explain, plan, export and format masks; bench and studio hand over to their own rooms."""

from compilemask.cli.entry import main

__all__ = ["main"]
