"""What is checked of this lab's stacks, images and workflows stands in this folder, and tests of the tool elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[1]
LENDS: Final = "synthetic_lab.py"
"""Takes of the committed folders what comes with the tool."""
ROOT: Final = r"(?:ROOT|CHECKOUT|Path\(__file__\)(?:\.resolve\(\))?\.parents\[\d\]|\w+\.parents\[\d\])"
LOADERS: Final = r"(?:load_(?!actions)\w+|stack_names|spec_names|siblings|outputs|image_jobs|build_plan|Checkout)"
FOLDERS: Final = r"(?:stacks|\.github|workflows/(?:spec|generated|demand)|images(?!/(?:steps|controller)\b))"
READS: Final = re.compile(rf'\b{LOADERS}\({ROOT}(?!\w)|\b{ROOT} / "{FOLDERS}|\btests\.lab\b')
"""How a test comes by what this lab wrote, or by what is made from it. With the tool come pinned actions, the steps of
builds and the recipe of the fleet service."""


def reads(text: str) -> bool:
    return READS.search(text) is not None


def test_no_other_module_reads_this_labs_files() -> None:
    modules = {path.relative_to(TESTS).as_posix(): path for path in TESTS.rglob("*.py")}
    found = [name for name, path in modules.items() if not name.startswith("lab/") and reads(path.read_text())]
    assert [name for name in found if name != LENDS] == [], (
        "move what checks this lab to tests/lab; give other tests the synthetic one (tests/synthetic_lab.py)"
    )
