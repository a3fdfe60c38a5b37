"""What the real controllers of Kueue and JobSet answered, as `jobs list` and `jobs why` read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from infra.jobs.client import JobPhase, JobState
from infra.jobs.gke import GkeClient
from infra.jobs.kube import Kube
from infra.jobs.outcomes import Attempts, Outcome
from tests.jobs.cluster import running_cluster
from tests.jobs.queued_plane import TEAM
from tests.jobs.recording import load, play, pools_by_slice

At = Callable[[str, str], GkeClient]


@pytest.fixture
def at() -> Iterator[At]:
    """A client of the cluster as it was in a scenario at a moment."""
    with running_cluster() as cluster:
        client = GkeClient(Kube(replace(cluster.place, namespace=TEAM)))

        def played(scenario: str, name: str) -> GkeClient:
            play(cluster, load(scenario), name)
            return client

        yield played


def listed(client: GkeClient) -> dict[str, JobState]:
    return {each.name: each for each in client.jobs()}


def test_an_admitted_job_has_one_pod_a_vm_and_one_slice_a_pool() -> None:
    placed = pools_by_slice(load("success")["moments"]["running"], "llama")
    assert sorted(len(hosts) for hosts in placed.values()) == [4, 4]
    assert [len(set(hosts.values())) for hosts in placed.values()] == [1, 1]
    assert len({pool for hosts in placed.values() for pool in hosts.values()}) == 2


def test_a_job_runs_and_then_is_a_success(at: At) -> None:
    running = at("success", "running").job("llama").state()
    assert (running.phase, running.attempts, running.because) == (JobPhase.RUNNING, Attempts(), ())
    client = at("success", "ended")
    assert client.job("llama").state().outcome is Outcome.SUCCESS
    assert listed(client)["llama"].outcome is Outcome.SUCCESS


def test_jobs_that_wait_are_told_their_place_by_kueue(at: At) -> None:
    client = at("waiting", "two wait")
    waits = [client.job(name).state().waiting for name in ("second", "third")]
    assert [each and (each.queue, each.place) for each in waits] == [("v4-32", 0), ("v4-32", 1)]
    assert waits[0] is not None
    assert "insufficient unused quota for google.com/tpu in flavor v4-32-spot, 16 more needed" in waits[0].says
    assert {name: state.phase for name, state in listed(client).items() if name != "first"} == {
        "second": JobPhase.WAITING, "third": JobPhase.WAITING,
    }  # fmt: skip


def test_a_job_of_more_slices_than_its_queue_may_have_says_so(at: At) -> None:
    waits = at("too_large", "waiting").job("huge").state().waiting
    assert waits is not None
    assert "insufficient quota" in waits.says


def test_a_job_that_gave_its_quota_to_a_higher_priority_waits_and_then_goes_on_uncounted(at: At) -> None:
    stands = listed(at("outranked", "the high one runs"))
    assert {name: each.phase for name, each in stands.items()} == {"high": JobPhase.RUNNING, "low": JobPhase.WAITING}
    waits = stands["low"].waiting
    assert waits is not None
    assert (waits.place, waits.says.partition(";")[0]) == (0, "a job of higher priority took its quota")
    later = listed(at("outranked", "the low one goes on"))
    assert (later["high"].outcome, later["low"].phase) == (Outcome.SUCCESS, JobPhase.RUNNING)
    assert later["low"].attempts == Attempts(), "Kueue's preemption is no restart of JobSet"


def test_a_program_that_fails_is_restarted_as_often_as_it_may_and_then_is_an_error(at: At) -> None:
    again = at("failing", "begun again").job("bad").state()
    assert (again.phase, again.attempts) == (JobPhase.RUNNING, Attempts(failures=1))
    assert again.because == ("restarted after 1 of 1 failures",)
    ended = at("failing", "ended").job("bad").state()
    assert (ended.phase, ended.outcome) == (JobPhase.ENDED, Outcome.ERROR)
    assert ended.because[0] == "slice 0 host 0: its program ended with exit code 2"


def test_a_spot_vm_that_is_taken_with_notice_is_named_and_the_gang_begins_again(at: At) -> None:
    told = at("preempted", "told to end").job("llama").state()
    assert told.last is not None
    assert (told.last.outcome, told.last.because) == (Outcome.PREEMPTED, "spot node v4-32-a-0 is being taken")
    again = at("preempted", "without the node").job("llama").state()
    assert (again.phase, again.attempts) == (JobPhase.STARTING, Attempts(preemptions=1))
    assert again.because[-1] == "restarted after 1 of 10000 interruptions"
    later = at("preempted", "running again").job("llama").state()
    assert (later.phase, later.last, later.attempts) == (JobPhase.RUNNING, None, Attempts(preemptions=1))


def test_a_spot_vm_that_is_gone_without_a_word_is_a_preemption_too(at: At) -> None:
    found = at("vanished", "found without its node").job("llama").state()
    assert found.last is not None
    assert (found.last.outcome, found.last.because) == (Outcome.PREEMPTED, "spot node v4-32-a-0 is gone")
    again = at("vanished", "running again").job("llama").state()
    assert (again.phase, again.attempts) == (JobPhase.RUNNING, Attempts(preemptions=1))


def test_a_preemption_that_may_not_be_tried_again_ends_the_job(at: At) -> None:
    client = at("no_retry", "ended")
    ended = client.job("once").state()
    assert (ended.phase, ended.outcome, ended.attempts) == (JobPhase.ENDED, Outcome.PREEMPTED, Attempts())
    assert ended.because == ("slice 0 host 0: spot node v4-32-a-1 is being taken",)
    assert listed(client)["once"].outcome is Outcome.PREEMPTED


def test_a_job_that_ran_and_one_that_waited_are_cancelled_alike(at: At) -> None:
    client = at("cancelled", "ended")
    for name in ("runs", "waits"):
        state = client.job(name).state()
        assert (state.phase, state.outcome, state.waiting) == (JobPhase.ENDED, Outcome.CANCELLED, None), name
        assert state.because[0].startswith("cancelled at 20"), name
    assert {each.outcome for each in listed(client).values()} == {Outcome.CANCELLED}
    assert not [path for path in load("cancelled")["moments"]["ended"] if "/pods/" in path], "no slice is held on"


@pytest.mark.parametrize(
    ("scenario", "moment", "outcome", "because"),
    [
        ("drained", "told to end", Outcome.MAINTENANCE, "slice 0 host 0: node v4-32-a-0 was drained"),
        ("tpu_busy", "found in use", Outcome.FAILED, "slice 0 host 2: the TPU of its VM stayed in use"),
    ],
)
def test_what_a_machine_does_to_a_job_counts_as_no_failure(
    at: At, scenario: str, moment: str, outcome: Outcome, because: str
) -> None:
    told = at(scenario, moment).job("llama").state()
    assert told.last is not None
    assert (told.last.outcome, told.because) == (outcome, (because,))
    again = at(scenario, "running again").job("llama").state()
    assert (again.phase, again.attempts) == (JobPhase.RUNNING, Attempts(preemptions=1))


def test_a_job_of_a_team_that_names_no_queue_says_what_to_do(at: At) -> None:
    client = at("without_queue", "submitted")
    stray = client.job("stray").state()
    assert stray.waiting is not None
    assert (stray.phase, stray.waiting.reason) == (JobPhase.WAITING, "NoQueue")
    assert "submit it with --queue" in stray.waiting.says, "Kueue says of it that no LocalQueue of an empty name exists"
    assert listed(client)["stray"].waiting == stray.waiting


def test_a_job_that_xpk_submitted_is_listed_and_explained_as_one_of_ours(at: At) -> None:
    placed = pools_by_slice(load("of_xpk")["moments"]["running"], "maxtext")
    assert sorted(len(hosts) for hosts in placed.values()) == [4, 4]
    assert len({pool for hosts in placed.values() for pool in hosts.values()}) == 2
    told = at("of_xpk", "told to end").job("maxtext").state()
    assert told.because == ("slice 0 host 0: spot node v4-32-b-0 is being taken",)
    again = at("of_xpk", "running again").job("maxtext").state()
    assert (again.phase, again.attempts) == (JobPhase.RUNNING, Attempts(failures=1)), "its policy counts every restart"
    ended = at("of_xpk", "ended").job("maxtext").state()
    assert (ended.outcome, ended.replicas, ended.retries) == (Outcome.SUCCESS, 2, None)
    assert listed(at("of_xpk", "ended"))["maxtext"] == ended


def test_a_job_past_its_time_limit_is_an_error_and_not_one_that_waits(at: At) -> None:
    client = at("out_of_time", "ended")
    slow = client.job("slow").state()
    assert (slow.phase, slow.outcome, slow.waiting) == (JobPhase.ENDED, Outcome.ERROR, None)
    assert slow.because == ("the job: its time limit is over",)
    assert listed(client)["slow"].outcome is Outcome.ERROR


def test_a_job_with_quota_and_no_nodes_says_that_it_waits_for_them(at: At) -> None:
    client = at("without_room", "starting")
    assert {name: each.phase for name, each in listed(client).items()} == {
        "first": JobPhase.RUNNING, "second": JobPhase.STARTING,
    }  # fmt: skip
    second = client.job("second").state()
    assert second.waiting is None, "it has its quota"
    assert second.because == ("1 pod has no node yet: GKE makes nodes when it has room",)


def test_a_job_whose_nodes_did_not_come_in_time_says_so_and_is_tried_again(at: At) -> None:
    out = at("without_nodes", "out of the queue").job("patient").state()
    assert (out.phase, out.outcome) == (JobPhase.WAITING, None)
    assert out.waiting is not None
    assert out.waiting.says.startswith("its pods did not start in time; ")
    again = at("without_nodes", "tried again").job("patient").state()
    assert (again.phase, again.attempts) == (JobPhase.STARTING, Attempts()), "no restart of JobSet"
    assert "1 pod has no node yet" in again.because[0]


def test_a_job_whose_jobs_or_pods_are_refused_says_so_in_its_controllers_words(at: At) -> None:
    refused = at("forbidden", "no Jobs").job("llama").state()
    assert refused.phase is JobPhase.STARTING
    (jobs,) = refused.because
    assert jobs.startswith('llama: job "llama-slice-0" creation failed with error: ')
    assert jobs.endswith("denied request: Jobs carry a cost centre (JobCreationFailed)")
    (pods,) = at("forbidden", "no pods").job("llama").state().because
    assert pods.startswith("llama-slice-0: Error creating: pods ")
    assert pods.endswith("exceeded quota: no-pods, requested: pods=1, used: pods=0, limited: pods=0 (FailedCreate)")
    assert at("forbidden", "running").job("llama").state().because == (), "what is over is told no more"


def test_an_event_without_a_reason_which_anybody_may_write_is_told_by_its_message() -> None:
    with running_cluster() as cluster:
        play(cluster, load("forbidden"), "no Jobs")
        for body in cluster.objects.values():
            if "involvedObject" in body:
                del body["reason"]
        (said,) = GkeClient(Kube(replace(cluster.place, namespace=TEAM))).job("llama").state().because
    assert said.endswith("denied request: Jobs carry a cost centre")


def test_events_that_may_not_be_read_leave_the_rest_told() -> None:
    with running_cluster() as cluster:
        play(cluster, load("forbidden"), "no Jobs")
        cluster.refused[f"/api/v1/namespaces/{TEAM}/events"] = 403
        state = GkeClient(Kube(replace(cluster.place, namespace=TEAM))).job("llama").state()
    assert (state.phase, state.because) == (JobPhase.STARTING, ())
