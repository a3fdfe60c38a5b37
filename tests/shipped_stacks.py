"""The committed stack files for tests: as their owners have them today, and with the fleet that tests count on.

Owners change capacity every day, and no test may stand in their way. So a test of what an edit does takes the text of
`steady`: the committed file, its capacity the same whatever owners write today. A test of what must hold of every
fleet reads the committed files themselves.

Tests of both kinds name pools, images and workflows of the lab whose files this project ships with. In a copy whose
files are another lab's (docs/next-lab.md) they are left out, each with the reason.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infra.model.stack import pulumi_values, stack_names

ROOT = Path(__file__).resolve().parents[1]
STEADY = {
    "ci": """\
  tidepool:vm_labels:
    tpu-ci-component: runner
    tpu-ci-managed: "true"

  tidepool:pools:
    - name: tpu-ci
      accelerator: v5litepod-4
      zones:
        us-west4-a: 2
        us-east1-c: 2
        europe-west4-b: 2
      capacity: preemptible
      trust: member
      labels: [tpu, self-hosted]
      serves: [marin-community/marin]
      unlisted_zone:
        us-east1-c: Not on Google's list for v5e; this fleet has run there since 2025 and the price SKUs name it.
      runtime_override:
        version: tpu-ubuntu2204-base
        reason: The runner image was built and proven on this runtime, which works on v5e.

    - name: tpu-v5p
      accelerator: v5p-8
      zones:
        us-central1-a: 1
      capacity: preemptible
      trust: member
      labels: [tpu, self-hosted]
      serves: [marin-community/marin]

    - name: tpu-v4
      accelerator: v4-8
      zones:
        us-central2-b: 1
      capacity: preemptible
      trust: member
      labels: [tpu, self-hosted]
      serves: [marin-community/marin]

    - name: tpu-v6e
      accelerator: v6e-8
      zones:
        europe-west4-a: 1
      capacity: preemptible
      trust: member
      labels: [tpu, self-hosted]
      serves: [marin-community/marin]

""",
    "nightly": """\
  tidepool:pools:
    - name: nightly-v6e
      accelerator: v6e-1
      zones:
        us-central1-b: 0
      capacity: preemptible
      trust: fork

""",
    "training": """\
  tidepool:pools:
    - name: train-v4
      accelerator: v4-32
      zones:
        us-central2-b: 0
      capacity: preemptible
      trust: protected

  tidepool:secrets:
    - name: hf-token
      readers: [pool/train-v4]
    - name: wandb-api-key
      readers: [pool/train-v4]

""",
}
"""By stack: its pools, and what names them."""
CAPACITY = ("vm_labels", "pools", "reservations", "quotas", "freezes", "budget", "exceptions")


LAB = "marin"
ELSEWHERE = f"stands on the files of the lab that this project ships with, {LAB}; those of this copy are another's"


def are_shipped() -> bool:
    """Whether the stacks of this checkout belong to the lab that this project ships with."""
    return pulumi_values(shipped("ci"))["tidepool:owner"] == LAB


def insist_on_shipped() -> None:
    """Leave out the test, or the module, that asks for files of this lab where they are another's."""
    if not are_shipped():
        pytest.skip(ELSEWHERE, allow_module_level=True)


def shipped(stack: str) -> str:
    """As the file says today."""
    return (ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")


def connected(text: str, *repositories: str) -> str:
    """The text of a stack with its source repositories, or these of them, connected to Cloud Build, and no other."""
    head, key, rest = text.partition("    connections:\n")
    block, _, tail = rest.partition("\n\n")
    bare = re.sub(r"(?m)^ +(installation|token_secret): .*\n", "", f"{block}\n")
    named = "|".join(map(re.escape, repositories)) or r"\S+"
    access = "        installation: 1234567\n        token_secret: cloud-build-token/versions/1\n"
    joined = re.sub(rf"(?m)^      - repository: (?:{named})\n", lambda found: found[0] + access, bare)
    return f"{head}{key}{joined}\n{tail}"


def steady(stack: str) -> str:
    """As the file says, with the capacity that tests count on."""
    insist_on_shipped()
    if stack not in STEADY:
        return shipped(stack)
    head, start, sections = shipped(stack).partition("\nconfig:\n")
    replaced = "|".join((*CAPACITY, *re.findall(r"(?m)^  tidepool:(\w+):", STEADY[stack])))
    rest = re.sub(rf"(?m)^  tidepool:(?:{replaced}):.*\n(?:(?: {{3,}}.*| *#.*)?\n)*", "", sections)
    place = re.search(r"(?m)^  tidepool:(?!owner|bucket|registry_stack)|\Z", rest)
    assert place is not None
    before, after = rest[: place.start()], rest[place.start() :]
    return f"{head}{start}{before}{STEADY[stack]}{after}".rstrip() + "\n"


def lend_steady(root: Path) -> None:
    """Write every stack file, steady, below `root`."""
    (root / "stacks").mkdir(parents=True, exist_ok=True)
    for stack in stack_names(ROOT):
        (root / "stacks" / f"Pulumi.{stack}.yaml").write_text(steady(stack), encoding="utf-8")


of_this_lab = pytest.mark.skipif(not are_shipped(), reason=ELSEWHERE)
"""Marks a test, or a module, that names what the shipped files declare."""
