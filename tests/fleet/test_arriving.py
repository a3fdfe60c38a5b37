"""Which new VMs are waited for before others go, and which pools would be left with nobody."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from infra.fleet.arriving import Leaving, just_made, serves, stand_ins, takes_over, unserved
from infra.fleet.controller.desired import Desired, DesiredSlot, SlotPlace
from infra.fleet.controller.observed import NodeSeen, Observed, RunnerSeen, Source
from infra.fleet.reports import Phase, ReportSeen
from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.runner_names import runner_name

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
REPOSITORY = "lab/code"


def slot(name: str, pool: str = "a", *, serves: tuple[str, ...] = (REPOSITORY,)) -> DesiredSlot:
    home = SlotPlace(zone="us-west4-a", capacity=CapacityKind.SPOT)
    accelerator = AcceleratorType.parse("v5litepod-4")
    return DesiredSlot(name=name, pool=pool, accelerator=accelerator, places=(home,), serves=serves)


def fleet(*slots: DesiredSlot) -> Desired:
    return Desired(stack="ci", project="my-lab", slots=slots)


def seen(
    *nodes: str, online: tuple[str, ...] = (), new: tuple[str, ...] = (), state: str = "READY", github: bool = True
) -> Observed:
    """What stands in which state, whose runner is online, and what was made ten minutes ago; the rest is a day old."""
    found = tuple(
        NodeSeen(
            name=name,
            zone="us-west4-a",
            state=state,
            accelerator="v5litepod-4",
            capacity=CapacityKind.SPOT,
            created=(NOW - (timedelta(minutes=10) if name in new else timedelta(days=1))).isoformat(),
        )
        for name in nodes
    )
    runners = tuple(
        RunnerSeen(id=index, name=runner_name(name, f"{index:06x}"), scope="repos/lab/code", online=True, busy=False)
        for index, name in enumerate(online)
    )
    source = Source(known=True) if github else Source(known=False, reason="GitHub did not answer")
    return Observed(zones={}, nodes=found, runners=runners, github=source)


MOVE = fleet(slot("old-0"), slot("old-1"), slot("new-0"), slot("new-1"))
GOING = ("old-0", "old-1")
BOTH, ONE = Leaving(frozenset(GOING)), Leaving(frozenset({"old-0"}))


def test_what_was_just_made_for_the_same_work_is_waited_for_until_its_runner_is_online() -> None:
    nodes = ("old-0", "old-1", "new-0", "new-1")
    before = seen(*nodes, online=GOING, new=("new-0", "new-1"))
    assert just_made(MOVE, before, BOTH, NOW) == {"new-0", "new-1"}
    assert unserved(MOVE, before, BOTH) == ("a",)
    after = seen(*nodes, online=(*GOING, "new-0"), new=("new-0", "new-1"))
    assert just_made(MOVE, after, BOTH, NOW) == {"new-1"}
    assert unserved(MOVE, after, BOTH) == ()


def test_nobody_waits_for_what_failed_long_ago() -> None:
    assert just_made(MOVE, seen("old-0", "new-0", online=GOING), BOTH, NOW) == frozenset()


def test_nobody_waits_where_nobody_serves() -> None:
    idle = seen("old-0", "new-0", new=("new-0",))
    assert just_made(MOVE, idle, BOTH, NOW) == frozenset()
    assert unserved(MOVE, idle, BOTH) == ()


def test_a_pool_of_another_name_that_serves_the_same_repository_is_waited_for() -> None:
    renamed = fleet(slot("old-0"), slot("new-0", "b"), slot("far-0", "c", serves=("lab/other",)))
    observed = seen("old-0", "new-0", "far-0", online=("old-0",), new=("new-0", "far-0"))
    assert just_made(renamed, observed, ONE, NOW) == {"new-0"}
    assert unserved(renamed, observed, ONE) == (REPOSITORY,), "nobody else serves it yet"
    assert stand_ins({"new-0"}, renamed, observed, ONE) == frozenset()
    room = replace(ONE, makes_room=True)
    assert unserved(renamed, observed, room) == (), "what is to serve it waits for their chips"
    after = seen("old-0", "new-0", "far-0", online=("old-0", "new-0"), new=("new-0", "far-0"))
    assert unserved(renamed, after, ONE) == ()
    assert unserved(fleet(slot("old-0")), seen("old-0", online=("old-0",)), ONE) == (), "nobody is to serve it"


def test_who_does_the_work_of_what_does_not_serve_yet() -> None:
    more = fleet(slot("old-0"), slot("new-0"), slot("new-1"), slot("b-0", "b"), slot("c-0", "c", serves=("lab/other",)))
    observed = seen("old-0", "new-0", "new-1", "b-0", "c-0", online=("old-0", "new-1", "b-0", "c-0"))
    assert stand_ins({"new-0"}, more, observed, ONE) == {"new-1", "b-0"}


@pytest.mark.parametrize(
    ("one", "observed", "is_served"),
    [
        (slot("a-0"), seen("a-0", online=("a-0",)), True),
        (slot("a-0"), seen("a-0"), False),
        (slot("a-0"), seen("a-0", online=("a-0",), state="CREATING"), False),
        (slot("a-0", serves=()), seen("a-0"), True),
        (slot("a-0"), seen("a-0", github=False), True),
        (slot("a-0"), seen(), False),
    ],
    ids=["online", "not online", "not ready", "no runner to have", "GitHub does not tell", "not there"],
)
def test_who_serves(one: DesiredSlot, observed: Observed, is_served: bool) -> None:
    assert serves(one, fleet(one), observed) == is_served


def test_a_repository_that_is_served_no_more_and_does_not_answer_lets_nobody_serve_unheard() -> None:
    silent = Source(known=False, reason="it was deleted")
    observed = replace(seen("old-0", "new-0", online=("old-0",), new=("new-0",)), left={"repos/lab/gone": silent})
    move = fleet(slot("old-0"), slot("new-0"))
    assert just_made(move, observed, ONE, NOW) == {"new-0"}
    assert unserved(move, observed, ONE) == ("a",)


HOME = "us-west4-a"
RETURNING = Leaving(frozenset({"a-0"}), frozenset({"a-0"}))


def coming_home(*, state: str = "READY", runners: int = 1, says: ReportSeen | None = None) -> Observed:
    """A VM at a fallback that serves, and the one of its name that was just made at home."""
    home, away = seen("a-0", new=("a-0",), state=state).nodes[0], seen("a-0").nodes[0]
    found = seen("a-0", online=("a-0",) * runners)
    return replace(found, nodes=(home, replace(away, zone="us-west1-c")), reports={"a-0": says} if says else {})


def report(proved: str, at: datetime, phase: Phase = Phase.IDLE) -> ReportSeen:
    return ReportSeen(vm="a-0", pool="a", phase=phase, at=at, proved=proved)


@pytest.mark.parametrize(
    ("observed", "at_home"),
    [
        (coming_home(state="CREATING"), False),
        (coming_home(), False),
        (coming_home(runners=2), True),
        (coming_home(says=report(HOME, NOW)), True),
        (coming_home(says=report(HOME, NOW, Phase.BOOTING)), False),
        (coming_home(says=report("us-west1-c", NOW)), False),
        (coming_home(says=report(HOME, NOW - timedelta(hours=1))), False),
    ],
    ids=["created", "boots", "both have a runner", "says so", "says it boots", "the fallback says so", "an older one"],
)
def test_a_vm_that_comes_home_is_waited_for_there_while_its_fallback_serves(observed: Observed, at_home: bool) -> None:
    one = fleet(slot("a-0"))
    assert takes_over(slot("a-0"), one, observed, RETURNING) is at_home
    assert just_made(one, observed, RETURNING, NOW) == (frozenset() if at_home else {"a-0"})
    assert unserved(one, observed, RETURNING) == (() if at_home else ("a",))
