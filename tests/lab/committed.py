"""The committed stacks of this lab: their texts, and what their programs declare."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from infra.model.stack_text import stack_names
from infra.program.stack import run
from tests.program.fake_engine import Built
from tests.program.stacks import built

ROOT = Path(__file__).resolve().parents[2]
STACKS = tuple(stack_names(ROOT))


def shipped(stack: str) -> str:
    """As the file says today."""
    return (ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")


@cache
def committed(stack: str) -> Built:
    """A stack as it is committed; read it, never change it."""
    return built(stack, shipped(stack), declares=run)
