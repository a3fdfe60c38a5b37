"""The specifications of the synthetic lab for tests: as they are, edited, or with another fleet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from infra.model.stack import parse_stack
from tests.synthetic_lab import steady, the_lab
from workflows.generate import Generated, generate
from workflows.spec import Spec, load_spec, read_spec
from workflows.world import ACTIONS, OwnActions, OwnPin, World, load_world

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "c0ffee" * 6 + "cafe"
Edits = Iterable[Iterable[str]]
"""Pairs of what stands in a text and what takes its place, once."""


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
def unedited(name: str) -> Spec:
    return load_spec(the_lab(), name, world())


def edited(text: str, edits: Edits) -> str:
    for before, after in edits:
        assert before in text, before
        text = text.replace(before, after, 1)
    return text


def text(name: str) -> str:
    return (the_lab() / "workflows" / "spec" / f"{name}.yaml").read_text(encoding="utf-8")


def spec(name: str, *edits: Iterable[str], among: World | None = None) -> Spec:
    return read_spec(edited(text(name), edits), name, f"workflows/spec/{name}.yaml", among or world())


def files(name: str, *edits: Iterable[str], among: World | None = None) -> dict[str, Generated]:
    """The generated files by name."""
    made = generate(spec(name, *edits, among=among), among or world())
    return {Path(each.path).name: each for each in made}


def job(file: Generated, name: str) -> dict[str, Any]:
    return file.workflow.plain()["jobs"][name]


def with_stacks(edits: Mapping[str, Edits]) -> World:
    """The world with stack files edited."""
    stacks = {
        name: parse_stack(edited(steady(name), each), stack=name, source=f"stacks/Pulumi.{name}.yaml")
        for name, each in edits.items()
    }
    return replace(world(), stacks={**world().stacks, **stacks})
