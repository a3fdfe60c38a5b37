"""Two versions of a stack file for tests of what an edit means, and the public fleet whose edits are replayed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from infra.model.schema import StackConfig
from infra.model.stack import Reading, read_stack
from infra.preview import edit_document, markdown, terminal
from infra.preview.explain import explain
from infra.preview.meaning import Facts, Meaning, VersionName

BASE = VersionName(ref="origin/main", commit="8c3f1e0ab6d29457e1c0b8a2d7f64935e0a1b2c3")
WORKING_TREE = VersionName(ref=None, commit=None)
TODAY = datetime(2026, 11, 21, 12, tzinfo=UTC)

# The tpu7x fleet of the public repository vllm-project/ci-infra: one reservation of 128 chips, fully used, of which
# these pools hold 100 and other people's VMs 28; pool names with hyphens.
REPLAYED = """\
config:
  gcp:project: cloud-ullm-inference-ci-cd
  tidepool:owner: vllm
  tidepool:bucket: {{name: vllm-ci-tidepool, location: us-central1}}
  tidepool:reservations:
    - name: tpu7x-ci
      project: cloud-ullm-inference-ci-cd
      zone: us-central1-c
      generation: tpu7x
      chips: 128
      held_elsewhere: {held}
  tidepool:pools:
"""
REPLAYED_POOL = """\
    - name: ci-v7x-{cores}
      accelerator: tpu7x-{cores}
      zones:
        us-central1-c: {count}
      capacity: {{reserved: tpu7x-ci}}
      trust: member
"""


def replayed(*, held: int = 28, **counts: int) -> str:
    """The fleet with counts by pool: `replayed(v2=12, v8=16, v16=3)`."""
    pools = (REPLAYED_POOL.format(cores=name.removeprefix("v"), count=count) for name, count in counts.items())
    return REPLAYED.format(held=held) + "".join(pools)


def reading(text: str, *, stack: str = "ci", siblings: tuple[StackConfig, ...] | None = None) -> Reading:
    return read_stack(text.encode(), stack=stack, source=f"stacks/Pulumi.{stack}.yaml", siblings=siblings)


def meaning(base: str | None, head: str | None, *, today: datetime = TODAY, **facts: Any) -> Meaning:
    """What the edit from one text to another means."""
    found = explain(
        reading(base) if base is not None else None,
        reading(head) if head is not None else None,
        Facts(today=today, **facts),
    )
    return replace(found, base_version=BASE, head_version=WORKING_TREE)


def told(edit: Meaning, width: int = terminal.WIDTH, *, every: bool = True) -> str:
    """What a terminal shows of an edit, with all that is folded."""
    return terminal.text(edit_document.document(edit), width, every=every)


def marked(edit: Meaning) -> str:
    """The same as markdown."""
    return markdown.render(edit_document.document(edit))


def heading(edit: Meaning) -> str:
    return told(edit, 999).partition("\n")[0]
