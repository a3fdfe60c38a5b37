"""The plans of stacks that reviewers read, and the one command that writes them with all that is generated."""

from __future__ import annotations

import json
from pathlib import Path

import pulumi
import pytest

from infra.engines.plans import plans
from infra.program.stack import run
from tests.engines.standing_world import STACK
from tests.synthetic_lab import lend

READER = """\
config:
  gcp:project: my-lab
  tidepool:owner: team
  tidepool:bucket: {name: lab-training, location: us}
  tidepool:registry_stack: organization/tidepool/lone
"""
REGISTRIES = """\
  tidepool:registries:
    regions: [us-west4]
    repositories: [{name: lab, description: Images, cleanup: {delete_older_than: 30d, keep_newest: 3}}]
"""
POOL = """\
  tidepool:pools:
    - {name: train, accelerator: v5litepod-4, zones: {us-west4-a: 1}, capacity: spot, trust: member}
"""

pytestmark = pytest.mark.usefixtures("cheap_keys")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = lend(tmp_path)
    for path in (found / "stacks").iterdir():
        path.unlink()
    return found


def declare(root: Path, stack: str, text: str) -> None:
    (root / "stacks" / f"Pulumi.{stack}.yaml").write_text(text)


def listed(root: Path, stack: str) -> set[str]:
    return set(plans(root).texts[f"stacks/plans/{stack}.yaml"].splitlines())


def test_a_vm_more_is_a_line_more(root: Path) -> None:
    declare(root, "lone", STACK.format(count=2, accelerator="v5litepod-4"))
    two = listed(root, "lone")
    declare(root, "lone", STACK.format(count=3, accelerator="v5litepod-4"))
    assert listed(root, "lone") - two == {"  - tidepool:runner_pool:RunnerPool$gcp:tpu/v2Vm:V2Vm tpu-ci-us-west4-a-2"}


def test_what_is_protected_says_so_and_a_stack_finds_the_registries_of_one_that_comes_after_it_by_name(
    root: Path,
) -> None:
    declare(root, "lone", STACK.format(count=1, accelerator="v5litepod-4") + REGISTRIES)
    declare(root, "a-reader", READER + POOL)
    registry = "tidepool:registries:Registries$gcp:artifactregistry/repository:Repository us-west4/lab (protected)"
    assert f"  - {registry}" in listed(root, "lone")
    reader = listed(root, "a-reader")
    assert any("RepositoryIamMember pool-train-reads-us-west4/lab" in line for line in reader)
    assert not any("Repository us-west4/lab" in line for line in reader)


def test_a_program_that_fails_has_no_plan_and_hides_no_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(root, "lone", STACK.format(count=1, accelerator="v5litepod-4"))
    declare(root, "other", READER.replace("lab-training", "lab-other").partition("  tidepool:registry_stack")[0])

    def fail(checkout: Path) -> None:
        if pulumi.get_stack() == "lone":
            raise ValueError("no zone today")
        run(checkout)

    monkeypatch.setattr("infra.engines.plans.run", fail)
    found = plans(root)
    assert list(found.texts) == ["stacks/plans/other.yaml"]
    assert list(found.failures) == ["lone"]
    assert "no zone today" in found.failures["lone"]


def test_a_stray_configuration_of_the_shell_changes_no_plan(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(root, "lone", STACK.format(count=1, accelerator="v5litepod-4"))
    before = listed(root, "lone")
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps({"tidepool:unheard_of": "{}", "aws:region": "us-east-1"}))
    assert listed(root, "lone") == before
