"""A sibling stack whose file has mistakes draws no known number of chips: not known is a stop, and never 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.model.errors import ConfigError, Problem
from infra.model.partial import UnsureStack
from infra.model.stack import load_stack, read_sibling
from tests.model.given import parse, pool, refusals, stack_text

QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 16}\n"
LIMITED = stack_text(quotas=QUOTA)
"""Eight of its 16 chips are drawn by tpu-ci."""


def beside(sibling: str, text: str = LIMITED) -> tuple[Problem, ...]:
    """What is wrong with a stack beside a file of another one."""
    other = read_sibling(sibling.replace("my-lab-ci", "my-lab-nightly").encode(), stack="nightly")
    return refusals(text, siblings=(other,) if other else None)


NIGHTLY = stack_text(pools=pool(name="nightly", zones="{us-west4-a: 3}"))
"""It passes the quota: 8 + 12 of 16 chips."""


@pytest.mark.parametrize(
    ("right", "wrong", "doubt"),
    [
        ("v5litepod-4", "v9-9", "not an accelerator type of the catalogue"),
        ("us-west4-a: 3", "us-west4-a: three", "pools[0].zones.us-west4-a"),
        ("capacity: spot", "capacity: sopt", "pools[0].capacity"),
        ("capacity: spot", "capacity: spot\n      fallback: us-east1-c", "pools[0].fallback"),
        ("tidepool:pools", "tidepool:pols", "no such key: tidepool:pols"),
        ("gcp:project: my-lab", "gcp:project: 7", "gcp:project"),
        ("config:", "config", "one valid YAML document"),
        ("  tidepool:owner", "  tidepool:pools: []\n  tidepool:owner", "tidepool:pools"),
    ],
)
def test_an_edit_beside_a_stack_file_with_a_mistake_is_stopped(right: str, wrong: str, doubt: str) -> None:
    (whole,) = beside(NIGHTLY)
    assert "together 20 of 16 chips" in whole.rule
    broken = NIGHTLY.replace(right, wrong)
    assert broken != NIGHTLY
    text = str(ConfigError(beside(broken)))
    assert doubt in text
    assert "together" not in text


def test_a_mistake_that_hides_no_chips_stops_no_other_stack() -> None:
    spare = NIGHTLY.replace("us-west4-a: 3", "us-west4-a: 1").replace("owner: lab", "owner: [lab]")
    assert "together 12 of 4 chips" in beside(spare, LIMITED.replace("chips: 16", "chips: 4"))[0].rule
    other = read_sibling(spare.replace("my-lab-ci", "my-lab-nightly").encode(), stack="nightly")
    assert isinstance(other, UnsureStack)
    assert parse(LIMITED, siblings=(other,))


def test_a_file_that_nobody_can_read_is_not_known_either(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.ci.yaml").write_text(LIMITED)
    (tmp_path / "stacks" / "Pulumi.nightly.yaml").symlink_to(tmp_path / "gone")
    with pytest.raises(ConfigError, match=r"1 stack not checked: ci \(it reads nightly\)"):
        load_stack(tmp_path, "ci")
    assert load_stack(tmp_path, "ci", alone=True), "what changes no chips goes on"


def test_a_broken_file_may_hide_the_very_limit(tmp_path: Path) -> None:
    (problem,) = beside(NIGHTLY + LIMITED.partition("trust: member\n")[2].replace("16", "many"), stack_text())
    assert problem.subject.endswith("tidepool:quotas[0].chips")
