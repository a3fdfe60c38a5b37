"""The stacks of the table: those of the synthetic lab with VMs in each, a small one, and the edits that rows make."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.program.stacks import edited, text_of
from tests.synthetic_lab import lend

COMMITTED: Final = ("ci", "nightly", "training")
SMALL: Final = "small"
CLUSTER: Final = "cluster"
FIRST: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "nightly": (("us-central1-b: 0", "us-central1-b: 2"),),
    "training": (("us-central2-b: 0", "us-central2-b: 2"),),
}
"""What is edited before the first `up`, so that every stack has VMs to change."""

SMALL_STACK: Final = """\
config:
  gcp:project: my-lab
  gcp:addPulumiAttributionLabel: "false"
  tidepool:owner: lab
  tidepool:bucket: {name: my-lab-small, location: us}
  tidepool:vm_labels: {team: blue}
  tidepool:reservations:
    - {name: lab, project: my-lab, zone: us-central1-a, generation: v5p, chips: 12}
  tidepool:pools:
    - {name: old, accelerator: v5p-8, zones: {us-central1-a: 3}, capacity: {reserved: lab}, trust: member}
    - {name: new, accelerator: v5p-8, zones: {us-central1-a: 0}, capacity: {reserved: lab}, trust: member}
    - {name: spare, accelerator: v6e-8, zones: {europe-west4-a: 2}, capacity: preemptible, trust: member}
"""

CLUSTER_STACK: Final = """\
config:
  gcp:project: my-lab
  gcp:addPulumiAttributionLabel: "false"
  tidepool:owner: lab
  tidepool:bucket: {name: my-lab-cluster, location: us}
  tidepool:reservations:
    - {name: lab, project: my-lab, zone: us-central1-c, generation: tpu7x, chips: 16}
  tidepool:quotas:
    - {project: my-lab, zone: us-central1-a, generation: v5p, kind: preemptible, chips: 16}
  tidepool:cluster:
    name: train
    region: us-central1
    zones: [us-central1-a]
    maintenance: {days: [SA, SU], start: "09:00", hours: 8}
    system: {machine_type: n2-standard-8}
  tidepool:slices:
    - {accelerator: v5p-16, zone: us-central1-a, capacity: spot, number: 2}
    - {accelerator: v6e-8, zone: us-central1-b, capacity: on-demand, buffer: 1, maximum: 3}
    - {accelerator: v6e-16, zone: us-central1-b, capacity: spot, buffer: 1, maximum: 2}
    - {accelerator: v5litepod-16, zone: us-central1-a, capacity: {flex-start: 24h}, buffer: 0, maximum: 1}
    - {accelerator: tpu7x-16, zone: us-central1-c, capacity: on-demand, number: 1}
"""
"""A cluster with slices of each kind of capacity, of one host and several, and of the shape that a workload policy
places; nothing in it, so that no other provider is needed."""

_SMALL_SLICES = "    - {accelerator: v5p-8, zone: us-central1-a, capacity: spot, number: 2}"
_NIGHTLY = "name: nightly-v6e\n      accelerator: "
_SECRET = """\
    - name: wandb-api-key
      readers: [pool/train-v4]
"""

EDITS: Final[Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]]] = {
    "ci": {
        "one more": (("us-west4-a: 2", "us-west4-a: 3"),),
        "one fewer": (("us-west4-a: 2", "us-west4-a: 1"),),
        "another accelerator": (("accelerator: v6e-8", "accelerator: v6e-4"),),
        "what is protected goes": (("name: hai-gcp-models-tidepool-ci\n", "name: hai-gcp-models-tidepool-other\n"),),
    },
    "nightly": {
        "one more": (("us-central1-b: 2", "us-central1-b: 3"),),
        "one fewer": (("us-central1-b: 2", "us-central1-b: 1"),),
        "another accelerator": ((f"{_NIGHTLY}v6e-1", f"{_NIGHTLY}v6e-4"),),
        "what is protected goes": (
            ("name: hai-gcp-models-tidepool-nightly\n", "name: hai-gcp-models-tidepool-other\n"),
        ),
    },
    "training": {
        "one more": (("us-central2-b: 2", "us-central2-b: 3"),),
        "one fewer": (("us-central2-b: 2", "us-central2-b: 1"),),
        "another accelerator": (("accelerator: v4-32", "accelerator: v4-16"),),
        "what is protected goes": ((_SECRET, ""),),
    },
    CLUSTER: {
        "one slice more": (("buffer: 1, maximum: 2", "buffer: 1, maximum: 3"),),
        "another kind of capacity": (("capacity: on-demand, buffer", "capacity: spot, buffer"),),
        "swap": (("capacity: spot, number: 2}", f"capacity: spot, number: 1}}\n{_SMALL_SLICES}"),),
    },
    SMALL: {
        "one more": (("europe-west4-a: 2", "europe-west4-a: 3"),),
        "one fewer": (("europe-west4-a: 2", "europe-west4-a: 1"),),
        "one of another accelerator": (("v6e-8, zones: {europe-west4-a: 2}", "v6e-4, zones: {europe-west4-a: 1}"),),
        "a zone moves": (("europe-west4-a: 2", "us-east5-b: 2"),),
        "swap": (("us-central1-a: 3}", "us-central1-a: 1}"), ("us-central1-a: 0}", "us-central1-a: 2}")),
    },
}
"""By stack, then by what it is to people."""

FULL: Final[Mapping[str, Mapping[str, Any]]] = {
    SMALL: {
        "project": "my-lab",
        "zone": "us-central1-a",
        "generation": "v5p",
        "chips": 12,
        "capacity": "reserved",
        "name": "lab",
    },
    CLUSTER: {
        "project": "my-lab",
        "zone": "us-central1-a",
        "generation": "v5p",
        "chips": 16,
        "capacity": "preemptible",
    },
}


def write_synthetic(root: Path) -> None:
    """Every stack file of the synthetic lab, with VMs in each."""
    lend(root)
    for stack, edits in FIRST.items():
        (root / "stacks" / f"Pulumi.{stack}.yaml").write_text(edited(stack, *edits))
    assert text_of("ci") == (root / "stacks" / "Pulumi.ci.yaml").read_text()


def write_cluster(root: Path) -> None:
    (root / "stacks" / f"Pulumi.{CLUSTER}.yaml").write_text(CLUSTER_STACK)


def write_small(root: Path) -> None:
    (root / "stacks" / f"Pulumi.{SMALL}.yaml").write_text(SMALL_STACK)
