"""What the documents say is true: their programs run, and no public name is missing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import compilemask

ROOT = Path(__file__).parents[2]
LIBRARY = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("document", ["README.md", "docs/library.md"])
def test_the_python_of_a_document_runs_as_it_stands(document: str) -> None:
    blocks = python_blocks((ROOT / document).read_text(encoding="utf-8"))
    assert blocks
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [name for name in compilemask.__all__ if not name.startswith("_")])
def test_every_public_name_is_in_the_library_manual(name: str) -> None:
    assert re.search(rf"\b{name}\b", LIBRARY)


# Construction from runs is for the compiler; docs/architecture.md describes it.
FOR_THE_COMPILER = {"runs", "from_runs", "from_trapezoids"}


@pytest.mark.parametrize(
    "name", sorted(n for n in vars(compilemask.MaskDescriptor) if not n.startswith("_") and n not in FOR_THE_COMPILER)
)
def test_every_public_name_of_the_descriptor_is_in_the_library_manual(name: str) -> None:
    assert re.search(rf"\b{name}\b", LIBRARY)


@pytest.mark.parametrize("name", sorted(n for n in vars(compilemask.MaskBatch) if not n.startswith("_")))
def test_every_public_name_of_the_batch_is_in_the_library_manual(name: str) -> None:
    assert re.search(rf"\b{name}\b", LIBRARY)


def test_the_readme_is_one_page() -> None:
    assert len(README.splitlines()) <= 90


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!https?://|#)([^)#\s]+)", README))))
def test_every_link_of_the_readme_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()
