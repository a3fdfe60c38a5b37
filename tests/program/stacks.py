"""Committed stacks built under the fake engine: as they are, with a steady fleet, and with an edit of that."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from infra.model.stack import pulumi_values, stack_names
from infra.program.stack import run
from tests.program.fake_engine import Built, build
from tests.shipped_stacks import insist_on_shipped, lend_steady, shipped, steady

ROOT = Path(__file__).resolve().parents[2]
STACKS = tuple(stack_names(ROOT))
CI_REGISTRIES = {"us-east1": {"marin": "us-east1-docker.pkg.dev/hai-gcp-models/marin"}}
REFERENCES: dict[str, dict[str, Any]] = {"organization/tidepool/ci": {"registries": CI_REGISTRIES}}


def lend(root: Path) -> Path:
    """Make `root` a checkout whose steady stacks may be edited; what else a program reads stands there by links."""
    lend_steady(root)
    for name in ("images", "infra", "LICENSE", "requirements-service.lock"):
        if not (root / name).exists():
            (root / name).symlink_to(ROOT / name)
    if not (root / "Pulumi.yaml").exists():
        shutil.copy(ROOT / "Pulumi.yaml", root)
    return root


def text_of(stack: str) -> str:
    """Of the synthetic lab, for programs that build the committed images."""
    insist_on_shipped()
    return steady(stack)


def edited(stack: str, *edits: tuple[str, str]) -> str:
    """A stack file's text after exact replacements, each of which must hit exactly one place."""
    text = text_of(stack)
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {stack}"
        text = text.replace(old, new)
    return text


@cache
def committed(stack: str) -> Built:
    """A stack as it is committed; read it, never change it."""
    return built(stack, shipped(stack))


@cache
def unedited(stack: str) -> Built:
    """A stack with the capacity that tests count on; read it, never change it."""
    return built(stack)


def built(stack: str, text: str | None = None, *, preview: bool = False) -> Built:
    values = pulumi_values(text_of(stack) if text is None else text)
    return build(run, stack=stack, config=values, references=REFERENCES, preview=preview)


def content(built: Built, name: str) -> dict[str, Any]:
    """The document that a program declares as an object; its text is a secret to the provider."""
    (found,) = (each for each in built.of("BucketObject") if each.name == name)
    return json.loads(found.inputs["content"]["value"])
