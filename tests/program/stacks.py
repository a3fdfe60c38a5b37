"""Stacks of the synthetic lab built under the fake engine: as they are, and with an edit."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from infra.model.stack_text import pulumi_values, stack_names
from infra.program.stack import run
from tests.program.fake_engine import Built, build
from tests.synthetic_lab import ROOT, SYNTHETIC, steady, the_lab

STACKS = tuple(stack_names(SYNTHETIC))
CI_REGISTRIES = {"us-east1": {"marin": "us-east1-docker.pkg.dev/hai-gcp-models/marin"}}
REFERENCES: dict[str, dict[str, Any]] = {"organization/tidepool/ci": {"registries": CI_REGISTRIES}}

__all__ = ["CI_REGISTRIES", "REFERENCES", "ROOT", "STACKS", "built", "content", "edited", "text_of", "unedited"]


def lab_program() -> None:
    """What the synthetic lab declares, of the stack that Pulumi's runtime is told."""
    run(the_lab())


def text_of(stack: str) -> str:
    return steady(stack)


def edited(stack: str, *edits: tuple[str, str]) -> str:
    """A stack file's text after exact replacements, each of which must hit exactly one place."""
    text = text_of(stack)
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {stack}"
        text = text.replace(old, new)
    return text


@cache
def unedited(stack: str) -> Built:
    """Read it, never change it."""
    return built(stack)


def built(
    stack: str, text: str | None = None, *, preview: bool = False, declares: Callable[[], None] = lab_program
) -> Built:
    values = pulumi_values(text_of(stack) if text is None else text)
    return build(declares, stack=stack, config=values, references=REFERENCES, preview=preview)


def content(built: Built, name: str) -> dict[str, Any]:
    """The document that a program declares as an object; its text is a secret to the provider."""
    (found,) = (each for each in built.of("BucketObject") if each.name == name)
    return json.loads(found.inputs["content"]["value"])
