"""What an edit of a cluster is told as beside its slices: quotas that follow, teams, nodes without chips, versions."""

from __future__ import annotations

import pytest

from infra.preview.meaning import Risk, RiskKind
from tests.model.given import stack_text
from tests.preview.two_versions import marked, meaning, told

CLUSTER = """\
name: train
region: us-central2
zones: [us-central2-b]
minimum_version: '1.35'
deletion_protection: true
maintenance: {days: [SA, SU], start: '09:00', hours: 8}
system: {machine_type: n2-standard-8, nodes: 2}
cpu_pools:
  - {name: batch, machine_type: n2-standard-16, zones: [us-central2-b], maximum: 40, spot: true}
  - {name: large, machine_type: n2-highmem-64, zones: [us-central2-b], maximum: 8}
ranges: {nodes: 10.0.0.0/16, pods: 10.64.0.0/11, services: 10.32.0.0/20}
"""
MORE = "- {name: more, machine_type: n2-standard-8, zones: [us-central2-b], maximum: 1}"
SLICES = "- {accelerator: v4-32, zone: us-central2-b, capacity: spot, buffer: 1, maximum: 6}\n"
QUEUES = "teams: [{name: pretraining}, {name: rl}]\n"
WORK = "- {name: dedup, team: rl, pool: large, memory: 4GB, cpus: 1, maximum: 2}\n"
GROUPS = (
    "- {name: math, team: rl, train: {accelerator: v4-32, command: [a]}, rollout: {accelerator: v4-32, command: [b]}, "
)
GROUPS += "curriculum: {pool: batch, command: [c]}}\n"
STACK = stack_text(pools="[]\n", cluster=CLUSTER, slices=SLICES, queues=QUEUES, batch=WORK, groups=GROUPS)


def risks(old: str, new: str) -> list[Risk]:
    assert old in STACK
    found = meaning(STACK, STACK.replace(old, new))
    assert not found.findings, found.findings
    return [each for each in found.risks if each.kind is not RiskKind.NOT_KNOWN]


def test_one_slice_more_is_told_with_the_quota_that_follows() -> None:
    found = meaning(STACK, STACK.replace("maximum: 6", "maximum: 7"))
    line = "v4-32, flavor v4-32-spot: 96 -> 112 chips, 5,760 -> 6,720 CPUs, 9,768 -> 11,396 GB of memory"
    assert [str(each) for each in found.queues] == [line]
    assert f"Queues\n  {line}\n" in told(found, width=200)
    assert f"**Queues**\n\n- {line}" in marked(found)
    assert found.to_json()["queues"] == [
        {
            "queue": "v4-32",
            "flavor": "v4-32-spot",
            "chips": {"before": 96, "after": 112},
            "cpus": {"before": 5760, "after": 6720},
            "memoryGb": {"before": 9768, "after": 11396},
        }
    ]


def test_a_truth_is_told_as_a_file_has_it() -> None:
    found = meaning(STACK, STACK.replace("deletion_protection: true", "deletion_protection: false"))
    assert [str(each) for each in found.keys] == ["cluster.deletion_protection = true -> false"]


def test_a_team_that_leaves_takes_its_namespace_with_all_in_it() -> None:
    without = STACK.replace(", {name: rl}", "").replace("team: rl", "team: pretraining")
    (gone,) = [each for each in meaning(STACK, without).risks if each.kind is RiskKind.DELETE]
    assert gone.says == "team rl leaves: its namespace is deleted, with every job, volume and secret in it"


@pytest.mark.parametrize(
    ("old", "new", "kind", "says"),
    [
        ("nodes: 2}", "nodes: 3}", RiskKind.IN_PLACE, "node pool system: 2 x n2-standard-8 in us-central2-b -> 3 x "),
        ("maximum: 40", "maximum: 41", RiskKind.IN_PLACE, "node pool batch: 0 to 40 x n2-standard-16 spot in "),
        ("maximum: 40", "minimum: 40, maximum: 40", RiskKind.IN_PLACE, "node pool batch: 0 to 40 x n2-standard-16 "),
        (
            "n2-standard-16", "n2-standard-32", RiskKind.REPLACE,
            "node pool batch: GKE makes every node anew, and pods on them restart: 0 to 40 x n2-standard-16 spot",
        ),
        ("spot: true", "spot: false", RiskKind.REPLACE, "node pool batch is replaced, and pods on it end: 0 to 40 x "),
        (
            "cpu_pools:\n", f"cpu_pools:\n      {MORE}\n",
            RiskKind.IN_PLACE, "node pool more is made: 0 to 1 x n2-standard-8 in us-central2-b",
        ),
        (
            "deletion_protection: true", "deletion_protection: false", RiskKind.PROTECTION,
            "cluster train loses its protection: a later edit or `destroy` deletes it with every job in it",
        ),
        (
            "'1.35'", "'1.36'", RiskKind.IN_PLACE,
            "cluster train: control plane at least 1.35 -> 1.36; nodes follow in its maintenance windows, and jobs on",
        ),
        (
            "minimum_version: '1.35'", "release_channel: rapid", RiskKind.IN_PLACE,
            "cluster train: release channel regular -> rapid, control plane at least 1.35 -> as the channel has it; ",
        ),
        (
            "10.64.0.0/11", "10.128.0.0/11", RiskKind.UNAPPLIABLE,
            "addresses of pods cannot change while cluster train stands: Google refuses",
        ),
        (
            "10.0.0.0/16", "10.0.0.0/17", RiskKind.UNAPPLIABLE,
            "addresses of nodes cannot change while cluster train stands: Google refuses",
        ),
    ],
)  # fmt: skip
def test_what_changes_of_a_cluster_beside_its_slices_is_told(old: str, new: str, kind: RiskKind, says: str) -> None:
    (risk,) = risks(old, new)
    assert (risk.kind, risk.says[: len(says)]) == (kind, says)


@pytest.mark.parametrize(
    ("old", "new"), [("maximum: 2}", "maximum: 1}"), ("command: [b]}", "command: [b], slices: 2}")]
)
def test_work_without_an_image_is_said_to_stand_nowhere(old: str, new: str) -> None:
    (risk,) = risks(old, new)
    assert risk.says.endswith(" has no image, so that nothing of it stands in the cluster")
