"""The specification of the synthetic lab for tests: as it is, edited, or with another fleet."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from infra.model.schema import StackConfig
from infra.model.stack import parse_stack
from tests.synthetic_lab import steady, the_lab
from workflows.generate import Generated, generate
from workflows.spec import Spec, load_spec, read_spec
from workflows.world import ACTIONS, OwnActions, OwnPin, World, load_world

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "workflows/spec/marin.yaml"
REPOSITORY = "marin-community/marin"
COMMIT = "c0ffee" * 6 + "cafe"
JAX = ("0.6.2", "0.7.2", "0.8.0")


@cache
def world() -> World:
    return load_world(the_lab())


@cache
def pinned() -> World:
    """With our actions at a commit, whatever is pinned today."""
    names = [path.name for path in (the_lab() / ACTIONS).iterdir()]
    own = OwnActions(world().images.recipes, dict.fromkeys(names, OwnPin("2026-11-22", COMMIT, "f00d" * 10)))
    return replace(world(), actions=replace(world().actions, own=own))


@cache
def unedited() -> Spec:
    return load_spec(the_lab(), "marin", world())


def text() -> str:
    return (the_lab() / SOURCE).read_text(encoding="utf-8")


def edited(*edits: tuple[str, str]) -> str:
    """The text with each edit made once; what an edit replaces must be there."""
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


def _parsed(name: str, text: str) -> StackConfig:
    return parse_stack(text, stack=name, source=f"stacks/Pulumi.{name}.yaml")


def with_stack(name: str, *edits: tuple[str, str]) -> World:
    """The world with one stack file edited."""
    whole = steady(name)
    for before, after in edits:
        assert before in whole, before
        whole = whole.replace(before, after, 1)
    return replace(world(), stacks={**world().stacks, name: _parsed(name, whole)})


def with_pool(stack: str, pool: str, **changes: object) -> World:
    """The world with values of one pool changed, unchecked."""
    config = world().stacks[stack]
    pools = tuple(each.model_copy(update=changes) if each.name == pool else each for each in config.pools)
    return replace(world(), stacks={**world().stacks, stack: config.model_copy(update={"pools": pools})})
