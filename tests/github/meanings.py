"""What real edits mean, by the same function as `explain`."""

from __future__ import annotations

from datetime import UTC, datetime

from infra.model.stack import Reading, read_stack
from infra.preview.explain import explain
from infra.preview.meaning import Facts, Meaning

STACK = """\
config:
  gcp:project: my-lab
  tidepool:owner: lab
  tidepool:bucket: {{name: my-lab-ci, location: us}}
  tidepool:pools:
    - {{name: one, accelerator: {one[0]}, zones: {{us-west4-a: {one[1]}}}, capacity: preemptible, trust: member}}
    - {{name: two, accelerator: {two[0]}, zones: {{us-west4-a: {two[1]}}}, capacity: preemptible, trust: member}}
"""
SMALL, LARGE = "v5litepod-4", "v5litepod-8"


def stack(*, one: tuple[str, int] = (SMALL, 2), two: tuple[str, int] = (SMALL, 2)) -> str:
    """Two pools, each with its accelerator and its count."""
    return STACK.format(one=one, two=two)


def meaning(head: str, base: str | None = None) -> Meaning:
    """What the edit from `base`, or from the usual two pools, means."""
    facts = Facts(today=datetime(2026, 11, 21, 12, tzinfo=UTC))
    return explain(_reading(stack() if base is None else base), _reading(head), facts)


def _reading(text: str) -> Reading:
    return read_stack(text.encode(), stack="ci", source="stacks/Pulumi.ci.yaml")
