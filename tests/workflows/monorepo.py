"""The monorepo's specification for tests: as committed, edited, or with another fleet.

What owners edit every day, counts of VMs and versions of jax, is the same here whatever the files say today: a test of
how files are made fails by a change of that alone, and not by an everyday edit.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from infra.model.stack import parse_stack
from workflows.generate import Generated, generate
from workflows.spec import Spec, load_spec, read_spec
from workflows.world import World, load_world

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "workflows/spec/marin.yaml"
REPOSITORY = "marin-community/marin"
JAX = ("0.6.2", "0.7.2", "0.8.0")
COUNTS = {
    "us-west4-a": 2, "us-east1-c": 2, "europe-west4-b": 2,
    "us-central1-a": 1, "us-central2-b": 1, "europe-west4-a": 1,
}  # fmt: skip


@cache
def shipped() -> World:
    """As the files say today."""
    return load_world(ROOT)


@cache
def world() -> World:
    return with_stack("ci")


@cache
def committed() -> Spec:
    """As the file says today."""
    return load_spec(ROOT, "marin", shipped())


def text() -> str:
    versions = ", ".join(f'"{version}"' for version in JAX)
    return re.sub(r"(?m)^( +jax: )\[.*\]$", rf"\g<1>[{versions}]", (ROOT / SOURCE).read_text(encoding="utf-8"))


def edited(*edits: tuple[str, str]) -> str:
    """The committed text with each edit made once; what an edit replaces must be there."""
    whole = text()
    for before, after in edits:
        assert before in whole, before
        whole = whole.replace(before, after, 1)
    return whole


def spec(*edits: tuple[str, str], among: World | None = None) -> Spec:
    return read_spec(edited(*edits), "marin", SOURCE, among or world())


def files(*edits: tuple[str, str], among: World | None = None) -> dict[str, Generated]:
    """The generated files by name."""
    made = generate(spec(*edits, among=among), among or world())
    return {Path(each.path).name: each for each in made}


def job(file: Generated, name: str) -> dict[str, Any]:
    return file.workflow.plain()["jobs"][name]


def stack_text(name: str) -> str:
    whole = (ROOT / "stacks" / f"Pulumi.{name}.yaml").read_text(encoding="utf-8")
    if name == "ci":
        for zone, count in COUNTS.items():
            whole = re.sub(rf"(?m)^( {{8}}{zone}: )\d+$", rf"\g<1>{count}", whole)
    return whole


def with_stack(name: str, *edits: tuple[str, str]) -> World:
    """The world with one stack file edited."""
    whole = stack_text(name)
    for before, after in edits:
        assert before in whole, before
        whole = whole.replace(before, after, 1)
    stack = parse_stack(whole, stack=name, source=f"stacks/Pulumi.{name}.yaml")
    rest = shipped() if name == "ci" else world()
    return replace(rest, stacks={**rest.stacks, name: stack})


def with_pool(stack: str, pool: str, **changes: object) -> World:
    """The world with values of one pool changed, unchecked."""
    config = world().stacks[stack]
    pools = tuple(each.model_copy(update=changes) if each.name == pool else each for each in config.pools)
    return replace(world(), stacks={**world().stacks, stack: config.model_copy(update={"pools": pools})})
