"""Stack files for tests: the committed ones as their owners have them today, and those of the synthetic lab.

Owners change capacity every day, and no test may stand in their way. So a test of the tool takes the texts of
`tests/synthetic`, and a test of what must hold of every fleet, in `tests/lab`, reads the committed files.

Tests of the tool that need images and workflows still stand on the committed ones. In a copy whose files are another
lab's (docs/next-lab.md) they are left out, each with the reason.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from infra.model.stack import pulumi_values

ROOT = Path(__file__).resolve().parents[1]
SYNTHETIC = ROOT / "tests" / "synthetic"
LAB = "marin"
ELSEWHERE = f"stands on the files of the lab that this project ships with, {LAB}; those of this copy are another's"


def are_shipped() -> bool:
    """Whether the stacks of this checkout belong to the lab that this project ships with."""
    return pulumi_values(shipped("ci"))["tidepool:owner"] == LAB


def insist_on_shipped() -> None:
    """Leave out the test, or the module, that asks for files of this lab where they are another's."""
    if not are_shipped():
        pytest.skip(ELSEWHERE, allow_module_level=True)


def shipped(stack: str) -> str:
    """As the file says today."""
    return (ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")


def connected(text: str, *repositories: str) -> str:
    """The text of a stack with its source repositories, or these of them, connected to Cloud Build, and no other."""
    head, key, rest = text.partition("    connections:\n")
    block, _, tail = rest.partition("\n\n")
    bare = re.sub(r"(?m)^ +(installation|token_secret): .*\n", "", f"{block}\n")
    named = "|".join(map(re.escape, repositories)) or r"\S+"
    access = "        installation: 1234567\n        token_secret: cloud-build-token/versions/1\n"
    joined = re.sub(rf"(?m)^      - repository: (?:{named})\n", lambda found: found[0] + access, bare)
    return f"{head}{key}{joined}\n{tail}"


def steady(stack: str) -> str:
    """As the synthetic lab has it, with the capacity that tests count on."""
    return (SYNTHETIC / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")


def lend_steady(root: Path) -> None:
    """Copy every stack file of the synthetic lab below `root`, for the committed images and workflows."""
    insist_on_shipped()
    shutil.copytree(SYNTHETIC / "stacks", root / "stacks", dirs_exist_ok=True)


of_this_lab = pytest.mark.skipif(not are_shipped(), reason=ELSEWHERE)
"""Marks a test, or a module, that names what the shipped files declare."""
