"""Stack files for tests: a small right one, and ways to make it wrong in one place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent, indent

import pytest

from infra.model.cost import StackCost, stack_cost
from infra.model.errors import ConfigError, Problem
from infra.model.schema import StackConfig
from infra.model.stack import parse_stack

ROOT = Path(__file__).parents[2]
SOURCE = "stacks/Pulumi.ci.yaml"

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HEAD = """\
config:
  gcp:project: my-lab
  tidepool:owner: lab
  tidepool:bucket: {name: my-lab-ci, location: us}
"""

POOL = """\
- name: tpu-ci
  accelerator: v5litepod-4
  zones:
    us-west4-a: 2
  capacity: preemptible
  trust: member
"""


def stack_text(*, pools: str = POOL, **sections: str) -> str:
    """A stack file of the usual head, these pools and further `tidepool:` sections, each given as a YAML block."""
    text = HEAD
    for key, block in ({"pools": pools} | sections).items():
        text += f"  tidepool:{key}:\n{indent(dedent(block), '    ')}"
    return text


def pool(**fields: object) -> str:
    """One more item for `pools`; fields replace or extend the usual ones, a value of None leaves one out."""
    usual: dict[str, object] = {
        "name": "other",
        "accelerator": "v5litepod-4",
        "zones": "{us-west4-a: 1}",
        "capacity": "spot",
        "trust": "member",
    }
    lines = [f"{key}: {value}" for key, value in (usual | fields).items() if value is not None]
    return "- " + "\n  ".join(lines) + "\n"


def sibling(*, stack: str = "nightly", project: str = "my-lab", **sections: str) -> StackConfig:
    """Another stack of the same repository, with a bucket of its own."""
    text = (
        stack_text(**sections).replace("my-lab-ci", f"my-lab-{stack}").replace("project: my-lab", f"project: {project}")
    )
    return parse(text, stack=stack)


def parse(text: str, *, stack: str = "ci", siblings: tuple[StackConfig, ...] | None = None) -> StackConfig:
    return parse_stack(text, stack=stack, source=SOURCE, siblings=siblings)


def cost_of(config: StackConfig, window_hours: Mapping[str, float] | None = None) -> StackCost:
    """What a stack costs at NOW."""
    return stack_cost(config, NOW, window_hours)


def refusals(text: str, *, stack: str = "ci", siblings: tuple[StackConfig, ...] | None = None) -> tuple[Problem, ...]:
    """Every problem of a file that must not be accepted."""
    with pytest.raises(ConfigError) as caught:
        parse(text, stack=stack, siblings=siblings)
    return caught.value.problems


def the_refusal(text: str, *, stack: str = "ci", siblings: tuple[StackConfig, ...] | None = None) -> Problem:
    """The only problem of a file that must not be accepted."""
    problems = refusals(text, stack=stack, siblings=siblings)
    assert len(problems) == 1, f"one mistake is one problem, not\n{ConfigError(problems)}"
    return problems[0]


def line_of(text: str, part: str) -> int:
    """The first line that holds `part`, from 1."""
    return next(number for number, line in enumerate(text.splitlines(), start=1) if part in line)
