"""What follows in a run: the next place after each obstacle, how a run ended, and which VMs are its own to delete."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.fleet.controller.observed import Trouble
from infra.fleet.runs import decide, left_vms
from infra.fleet.runs.cloud import obstacle
from infra.fleet.runs.decide import Ended, GiveUp, HostStatus, Obstacle, Reason, Tried, TryPlace
from infra.fleet.runs.left_vms import LeftVm
from infra.model.run_labels import RunVm

PLACES = 3


SIGNS = {
    "s": Obstacle.STOCKOUT,
    "q": Obstacle.QUOTA,
    "l": Obstacle.REQUEST_LIMIT,
    "o": Obstacle.OUTAGE,
    "r": Obstacle.REFUSED,
}
PAUSE, LIMIT, OUTAGE = decide.PAUSE, decide.REQUEST_LIMIT, decide.OUTAGE


@pytest.mark.parametrize(
    ("tried", "rounds", "until", "follows"),
    [
        ("", 2, 1e4, TryPlace(0, 0.0)),
        ("0s", 2, 1e4, TryPlace(1, 1.0)),
        ("0s 1s", 2, 1e4, TryPlace(2, 2.0)),
        ("0s 1s 2s", 2, 1e4, TryPlace(0, 3.0 + PAUSE)),
        ("0s 1s 2s 0s", 2, 1e4, TryPlace(1, 4.0)),
        (
            "0s 1s 2s 0s 1s 2s",
            2,
            1e4,
            GiveUp(Reason.STOCKOUT, "no VM after 6 attempts (3 places, 2 rounds): stockout at 2"),
        ),
        ("0q 1s 2s", 2, 1e4, TryPlace(1, 3.0 + PAUSE)),
        ("0q 1q 2q", 9, 1e4, GiveUp(Reason.QUOTA, "no VM after 3 attempts (3 places, 9 rounds): quota at 2")),
        ("0l " * 20, 1, 1e4, TryPlace(0, 20.0 + LIMIT)),
        (
            "0l " * 20,
            1,
            21.0,
            GiveUp(Reason.REQUEST_LIMIT, "no VM after 20 attempts (the time for it is over): request-limit at 0"),
        ),
        ("0o", 2, 1e4, TryPlace(0, 1.0 + OUTAGE)),
        ("0o 0o", 2, 1e4, TryPlace(0, 2.0 + 2 * OUTAGE)),
        ("0o 0o 0o", 2, 1e4, TryPlace(1, 3.0)),
        ("0o 0o 0o 1s 2s", 2, 1e4, TryPlace(0, 5.0 + PAUSE)),
        ("0s 1r", 2, 1e4, GiveUp(Reason.REFUSED, "refused at 1")),
        ("", 2, -1.0, GiveUp(Reason.OUTAGE, "no VM after 0 attempts (the time for it is over): nothing was tried")),
        ("0s", 2, 0.5, GiveUp(Reason.STOCKOUT, "no VM after 1 attempt (the time for it is over): stockout at 0")),
    ],
)
def test_what_follows_on_attempts_one_a_second(
    tried: str, rounds: int, until: float, follows: TryPlace | GiveUp
) -> None:
    """tried: places, each with what it met."""
    told = [(int(each[0]), SIGNS[each[1]]) for each in tried.split()]
    attempts = [Tried(place, found, f"{found} at {place}", float(at)) for at, (place, found) in enumerate(told, 1)]
    assert decide.next_attempt(PLACES, rounds, attempts, now=0.0, until=until) == follows


@given(st.data())
def test_whatever_google_answers_attempts_end_and_none_begins_late(data: st.DataObject) -> None:
    places, rounds, until = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3)), 3600.0
    tried: list[Tried] = []
    now = 0.0
    for _ in range(2000):
        found = decide.next_attempt(places, rounds, tried, now=now, until=until)
        if isinstance(found, GiveUp):
            assert found.reason.value in {each.obstacle.value for each in tried}
            return
        assert 0 <= found.place < places
        assert found.after <= until
        closed = {each.place for each in tried if each.obstacle is Obstacle.QUOTA}
        assert found.place not in closed or tried[-1].obstacle is Obstacle.REQUEST_LIMIT
        now = max(now, found.after) + data.draw(st.floats(0.1, 30.0))
        tried.append(Tried(found.place, data.draw(st.sampled_from(Obstacle)), "said", now))
    pytest.fail("it never ends")


@pytest.mark.parametrize(
    ("trouble", "text", "wanted"),
    [
        (Trouble.STOCKOUT, "There is no more capacity in the zone", Obstacle.STOCKOUT),
        (Trouble.QUOTA, "Quota limit 'TPUV6EPerProjectPerZone' has been exceeded.", Obstacle.QUOTA),
        (Trouble.OUTAGE, "Quota exceeded for 'Requests per minute'", Obstacle.REQUEST_LIMIT),
        (Trouble.OUTAGE, "The service is currently unavailable.", Obstacle.OUTAGE),
        (Trouble.REFUSED, "Invalid runtime version", Obstacle.REFUSED),
    ],
)
def test_obstacles_are_told_apart_by_what_google_says(trouble: Trouble, text: str, wanted: Obstacle) -> None:
    assert obstacle(trouble, text) is wanted


# The end of a run.

RUNNING, DONE = HostStatus("running"), HostStatus("ended", 0)


def ended(*hosts: HostStatus | None, state: str | None = "READY", now: float = 0.0, doubts: str = "") -> Ended | None:
    return decide.ended(state, hosts, now=now, ready_by=100.0, over_by=200.0, doubts=doubts)


def test_time_that_is_over_while_a_report_is_in_doubt_is_no_end_of_the_command() -> None:
    for hosts, now in (((None,), 100.0), ((RUNNING,), 200.0), ((RUNNING, None), 100.0)):
        found = ended(*hosts, now=now, doubts="host 0: it has no proof")
        assert found == Ended(
            Reason.UNPROVED, "what the VM says has no proof that it is the VM's: host 0: it has no proof"
        )
    assert not Reason.UNPROVED.of_the_command


def test_a_run_goes_on_while_its_hosts_do() -> None:
    assert ended(RUNNING, None, now=99.0) is None
    assert ended(RUNNING, None, now=99.0, doubts="host 1") is None
    assert ended(RUNNING, now=199.0, doubts="host 0") is None, "it ran, and what came after is in doubt"
    assert ended(RUNNING, DONE, now=199.0) is None


@pytest.mark.parametrize(
    ("hosts", "state", "now", "reason"),
    [
        ((DONE, DONE), "READY", 0.0, Reason.DONE),
        ((DONE, DONE), "PREEMPTED", 0.0, Reason.DONE),
        ((RUNNING, HostStatus("ended", 3)), "READY", 0.0, Reason.FAILED),
        ((RUNNING, HostStatus("ended", 71)), "READY", 0.0, Reason.FAILED),
        ((HostStatus("ended", 124),), "READY", 0.0, Reason.TIMED_OUT),
        ((HostStatus("not-begun", None, "no image"),), "READY", 0.0, Reason.NOT_STARTED),
        ((HostStatus("not-installed", None, "pip"),), "READY", 0.0, Reason.NOT_INSTALLED),
        ((RUNNING,), "PREEMPTED", 0.0, Reason.TAKEN_BACK),
        ((RUNNING,), None, 0.0, Reason.TAKEN_BACK),
        ((DONE, RUNNING), "TERMINATED", 0.0, Reason.TAKEN_BACK),
        ((RUNNING, None), "READY", 100.0, Reason.NOT_READY),
        ((RUNNING, RUNNING), "READY", 200.0, Reason.TIMED_OUT),
    ],
)
def test_how_a_run_ended_is_told_by_its_hosts_and_its_vm(
    hosts: tuple[HostStatus | None, ...], state: str | None, now: float, reason: Reason
) -> None:
    found = ended(*hosts, state=state, now=now)
    assert found is not None
    assert found.reason is reason


def test_a_vm_that_is_gone_is_told_as_taken_back() -> None:
    assert ended(RUNNING, state=None) == Ended(
        Reason.TAKEN_BACK, "Google took the VM back (it is gone), so there is no result"
    )


# What is left.


def node(name: str, state: str = "READY", **labels: str) -> dict[str, object]:
    return {"name": f"projects/p/locations/z/nodes/{name}", "state": state, "labels": labels}


@given(
    st.dictionaries(st.sampled_from(["tidepool-run", "tidepool-managed", "team"]), st.sampled_from(["1", "2", "true"]))
)
def test_only_vms_with_the_runs_own_labels_are_deleted(labels: dict[str, str]) -> None:
    listed = {"z": [node("mine", **RunVm(run="1", expires=5).labels()), node("other", **labels)]}
    assert left_vms.left_of(listed, "1") == (LeftVm("z", "mine", "READY"),), "without an end it is nobody's to delete"


def test_what_is_being_deleted_is_waited_for_and_not_asked_again() -> None:
    labels = RunVm(run="1", expires=5).labels()
    vms = left_vms.left_of({"a": [node("one", **labels)], "b": [node("two", "DELETING", **labels)]}, "1")
    assert [each.name for each in left_vms.to_delete(vms)] == ["one"]
    said = left_vms.not_deleted(vms, ["c"])
    assert said == "one in a (READY), two in b (DELETING), c could not be listed"
