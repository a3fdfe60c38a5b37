"""The table from what pods, nodes and TPU VMs say to how an attempt ended."""

from __future__ import annotations

from typing import Any

import pytest

from infra.jobs.evidence import findings, tpu_outcome
from infra.jobs.jobset import SECRET_UNREADABLE, TPU_BUSY
from infra.jobs.outcomes import Attempts, Outcome, gang_outcome
from infra.jobs.request import Retries
from tests.jobs.synthetic import condition, node, pod

HOST = "node-0-0"
GOING = "cloud.google.com/impending-node-termination"
WINDOW = "cloud.google.com/maintenance-window-started"
UNREACHABLE = "node.kubernetes.io/unreachable"
ONGOING = {"cloud.google.com/active-node-maintenance": "ONGOING"}


def waits(reason: str) -> list[dict[str, Any]]:
    return [{"state": {"waiting": {"reason": reason}}}]


def outcome(body: dict[str, Any], *nodes: dict[str, Any]) -> Outcome | None:
    found = findings([body], {each["metadata"]["name"]: each for each in nodes}, {})
    return found[0].outcome if found else None


FAILED: dict[str, Any] = {"phase": "Failed", "code": 1}


@pytest.mark.parametrize(
    ("body", "nodes", "expected"),
    [
        (pod(), [node(HOST)], None),
        (pod(phase="Succeeded", code=0), [node(HOST)], Outcome.SUCCESS),
        (pod(**FAILED), [node(HOST)], Outcome.ERROR),
        (pod(phase="Failed", code=TPU_BUSY), [node(HOST)], Outcome.FAILED),
        (pod(phase="Failed", code=SECRET_UNREADABLE), [node(HOST)], Outcome.ERROR),
        (pod(phase="Failed", code=137, ended="OOMKilled"), [node(HOST)], Outcome.ERROR),
        (pod(**FAILED, disrupted="PreemptionByScheduler"), [node(HOST)], Outcome.PREEMPTED),
        (pod(**FAILED, disrupted="TerminationByKubelet"), [node(HOST, spot=True)], Outcome.PREEMPTED),
        (pod(**FAILED, disrupted="TerminationByKubelet"), [node(HOST)], Outcome.FAILED),
        (pod(**FAILED, disrupted="TerminationByKubelet", reason="Evicted"), [node(HOST, spot=True)], Outcome.FAILED),
        (pod(phase="Failed", reason="Evicted"), [node(HOST, spot=True)], Outcome.ERROR),
        (pod(**FAILED, disrupted="EvictionByEvictionAPI"), [node(HOST)], Outcome.MAINTENANCE),
        (pod(**FAILED), [node(HOST, spot=True, taints=(GOING,))], Outcome.PREEMPTED),
        (pod(**FAILED), [node(HOST, spot=True, ready=False)], Outcome.PREEMPTED),
        (pod(**FAILED), [node(HOST, ready=False)], Outcome.FAILED),
        (pod(**FAILED, spot=True), [], Outcome.PREEMPTED),
        (pod(**FAILED), [], Outcome.FAILED),
        (pod(**FAILED, disrupted="TerminationByKubelet"), [node(HOST, labels=ONGOING)], Outcome.MAINTENANCE),
        (pod(phase="Failed", code=143), [node(HOST, labels=ONGOING)], Outcome.MAINTENANCE),
        (pod(phase="Failed", code=143), [node(HOST, spot=True, taints=(WINDOW, GOING))], Outcome.MAINTENANCE),
        (pod(**FAILED), [node(HOST, labels=ONGOING)], Outcome.ERROR),
        (pod(**FAILED), [node(HOST, taints=(WINDOW,))], Outcome.ERROR),
        (pod(disrupted="DeletionByTaintManager"), [node(HOST, taints=(UNREACHABLE,))], Outcome.FAILED),
        (pod(phase="Pending", containerStatuses=waits("ImagePullBackOff")), [], Outcome.ERROR),
        (pod(phase="Pending", containerStatuses=waits("ContainerCreating")), [], None),
    ],
)  # fmt: skip
def test_what_pods_and_nodes_say_becomes_an_outcome(
    body: dict[str, Any], nodes: list[dict[str, Any]], expected: Outcome | None
) -> None:
    assert outcome(body, *nodes) is expected


@pytest.mark.parametrize(("at", "expected"), [("10:00:59", Outcome.PREEMPTED), ("10:01:01", Outcome.ERROR)])
@pytest.mark.parametrize("mark", ["taint", "condition"])
def test_a_node_that_went_long_after_the_program_ended_is_no_reason(mark: str, at: str, expected: Outcome) -> None:
    """A job that failed is asked why for a week, in which its spot nodes go as all do."""
    body, gone = pod(**FAILED), node(HOST, spot=True, taints=(GOING,) if mark == "taint" else (), ready=mark == "taint")
    body["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = "2026-11-01T10:00:00Z"
    when = f"2026-11-01T{at}Z"
    for each in gone["spec"]["taints"]:
        each["timeAdded"] = when
    gone["status"]["conditions"][0]["lastTransitionTime"] = when
    assert outcome(body, gone) is expected


def test_no_text_of_a_program_or_a_cluster_changes_an_outcome() -> None:
    """The former launcher looked for words; a program may print any of them."""
    for words in ("preempted", "node was preempted by maintenance", "timed out"):
        body = pod(phase="Failed", code=1, message=words)
        body["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = words
        body["status"]["conditions"] = [condition("Ready", "False", message=words)]
        assert outcome(body, node(HOST)) is Outcome.ERROR


def test_a_pod_that_was_told_to_end_because_others_did_says_nothing() -> None:
    body = pod(phase="Failed", code=143)
    assert outcome(body, node(HOST)) is Outcome.ERROR
    body["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
    assert outcome(body, node(HOST)) is None


@pytest.mark.parametrize(
    ("tpu", "expected"),
    [
        ({"state": "READY", "health": "HEALTHY"}, None),
        ({"state": "CREATING"}, None),
        ({"state": "PREEMPTED"}, Outcome.PREEMPTED),
        ({"state": "TERMINATED", "schedulingConfig": {"spot": True}}, Outcome.PREEMPTED),
        ({"state": "STOPPED", "schedulingConfig": {"preemptible": True}}, Outcome.PREEMPTED),
        ({"state": "TERMINATED"}, Outcome.FAILED),
        ({"state": "REPAIRING"}, Outcome.FAILED),
        ({"state": "READY", "health": "UNHEALTHY_MAINTENANCE"}, Outcome.MAINTENANCE),
        ({"state": "READY", "health": "TIMEOUT"}, Outcome.FAILED),
    ],
)
def test_the_tpu_api_says_whether_a_host_was_preempted(tpu: dict[str, Any], expected: Outcome | None) -> None:
    found = tpu_outcome(tpu)
    assert (found and found[0]) is expected


def test_the_state_of_a_tpu_vm_outweighs_the_exit_code_on_it() -> None:
    found = findings([pod(phase="Failed", code=1)], {HOST: node(HOST)}, {HOST: {"state": "PREEMPTED"}})
    assert found[0].outcome is Outcome.PREEMPTED


def test_what_outweighs_what_in_a_gang() -> None:
    order = [Outcome.CANCELLED, Outcome.PREEMPTED, Outcome.MAINTENANCE, Outcome.FAILED, Outcome.ERROR, Outcome.SUCCESS]
    assert [gang_outcome(order[index:]) for index in range(len(order))] == order
    assert gang_outcome([]) is None


def test_preemptions_and_failures_have_budgets_of_their_own() -> None:
    budgets = Retries()
    assert (budgets.preemptions, budgets.failures) == (10_000, 10)
    spent = Attempts(preemptions=10_000, failures=10)
    for outside in (Outcome.PREEMPTED, Outcome.MAINTENANCE, Outcome.FAILED):
        assert spent.after(outside) == Attempts(preemptions=10_001, failures=10)
        assert not spent.after(outside).again(outside, budgets)
        assert Attempts(9_999, 10).after(outside).again(outside, budgets), "failures do not use up preemptions"
    assert not spent.after(Outcome.ERROR).again(Outcome.ERROR, budgets)
    assert Attempts(10_000, 9).after(Outcome.ERROR).again(Outcome.ERROR, budgets), "nor the other way round"
    for final in (Outcome.SUCCESS, Outcome.CANCELLED):
        assert Attempts().after(final) == Attempts()
        assert not Attempts().again(final, budgets)
