"""The lab that tests of the tool stand on: its files, and checkouts that have them.

`tests/synthetic` has what a lab writes: stacks, images with their recipes and listings, specifications of workflows.
What comes with the tool is this project's own. So no edit of the committed stacks, images and workflows fails a test
outside `tests/lab`, which checks those, nor does another lab's choice of them (docs/next-lab.md).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection
from functools import cache
from pathlib import Path

from workflows.outputs import outputs
from workflows.world import load_world

ROOT = Path(__file__).resolve().parents[1]
SYNTHETIC = ROOT / "tests" / "synthetic"
_LINKED = ("infra", "LICENSE", "requirements-service.lock")
_OF_THE_TOOL = ("steps", "controller", "bases.yaml")
_KEPT = tempfile.TemporaryDirectory(prefix="tidepool-synthetic-")
"""Removed when the process ends."""


def steady(stack: str) -> str:
    """The text of a stack file."""
    return (SYNTHETIC / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")


def connected(text: str, *repositories: str) -> str:
    """The text of a stack with its source repositories, or these of them, connected to Cloud Build, and no other."""
    head, key, rest = text.partition("    connections:\n")
    block, _, tail = rest.partition("\n\n")
    bare = re.sub(r"(?m)^ +(installation|token_secret): .*\n", "", f"{block}\n")
    named = "|".join(map(re.escape, repositories)) or r"\S+"
    access = "        installation: 1234567\n        token_secret: cloud-build-token/versions/1\n"
    joined = re.sub(rf"(?m)^      - repository: (?:{named})\n", lambda found: found[0] + access, bare)
    return f"{head}{key}{joined}\n{tail}"


def lend_stacks(root: Path) -> None:
    """Copy every stack file below `root`, and nothing else."""
    shutil.copytree(SYNTHETIC / "stacks", root / "stacks", dirs_exist_ok=True)


def lend(root: Path) -> Path:
    """Make `root` a checkout with stacks and images to edit; what else a program reads stands there by links."""
    lend_stacks(root)
    shutil.copytree(SYNTHETIC / "images", root / "images", dirs_exist_ok=True)
    for name in _OF_THE_TOOL:
        source, target = ROOT / "images" / name, root / "images" / name
        shutil.copytree(source, target, dirs_exist_ok=True) if source.is_dir() else shutil.copy(source, target)
    for name in _LINKED:
        if not (root / name).exists():
            (root / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "Pulumi.yaml", root)
    return root


def lend_workflows(root: Path) -> Path:
    """As `lend`, with what workflows are made from: specifications, pinned actions, shell."""
    lend(root)
    shutil.copytree(SYNTHETIC / "workflows", root / "workflows", dirs_exist_ok=True)
    shutil.copy(ROOT / "workflows" / "actions.yaml", root / "workflows")
    shutil.copytree(ROOT / "workflows" / "shell", root / "workflows" / "shell", dirs_exist_ok=True)
    _link_missing(ROOT / "workflows", root / "workflows", but=("demand.yaml", "generated", "__pycache__"))
    for module in (ROOT / "workflows" / "spec").glob("*.py"):
        (root / "workflows" / "spec" / module.name).symlink_to(module)
    return root


def _link_missing(source: Path, target: Path, *, but: Collection[str]) -> None:
    for each in source.iterdir():
        if each.name not in but and not (target / each.name).exists():
            (target / each.name).symlink_to(each)


def regenerate(root: Path) -> None:
    """Make every generated file of a checkout anew."""
    for path, text in outputs(root, load_world(root)).texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@cache
def the_lab() -> Path:
    """One checkout for the whole process, with the generated files: read it, never write to it."""
    root = lend_workflows(Path(_KEPT.name))
    regenerate(root)
    return root
