"""What is checked of this lab's stacks, images and workflows stands in this folder, and tests of the tool elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[1]
READS: Final = re.compile(
    r"""of_this_lab\b|insist_on_shipped\(|\bshipped\(|\bcommitted\(|\b(?:load_\w+|stack_names|siblings)\(ROOT\b"""
    r"""|ROOT / "(?:stacks|images|workflows)\b"""
)
"""How a test comes by what is committed in `stacks`, `images` and `workflows`."""
ALLOWED: Final = frozenset((TESTS / "lab" / "outside.txt").read_text(encoding="utf-8").split())
"""Modules outside that still read them: it only gets shorter. What they test wants a part of `tests/synthetic`."""


def test_no_other_module_reads_this_labs_files() -> None:
    modules = {path.relative_to(TESTS).as_posix(): path for path in TESTS.rglob("*.py")}
    reading = {name for name, path in modules.items() if not name.startswith("lab/") and READS.search(path.read_text())}
    assert reading - ALLOWED == set(), "move what checks this lab to tests/lab; give other tests tests/synthetic"
    assert ALLOWED - reading == set(), "take these off the list: they read nothing of the lab's any more"
