"""Which new VMs are waited for before others go, and which pools would be left with nobody."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from infra.fleet.arriving import just_made, serves, unserved
from infra.fleet.controller.desired import Desired, Place, Wanted
from infra.fleet.controller.observed import NodeSeen, Observed, RunnerSeen, Source
from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.runner_names import runner_name

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
REPOSITORY = "lab/code"


def slot(name: str, pool: str = "a", *, serves: tuple[str, ...] = (REPOSITORY,)) -> Wanted:
    home = Place(zone="us-west4-a", capacity=CapacityKind.SPOT)
    accelerator = AcceleratorType.parse("v5litepod-4")
    return Wanted(name=name, pool=pool, accelerator=accelerator, places=(home,), serves=serves)


def fleet(*slots: Wanted) -> Desired:
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


def test_what_was_just_made_for_the_same_work_is_waited_for_until_its_runner_is_online() -> None:
    nodes = ("old-0", "old-1", "new-0", "new-1")
    before = seen(*nodes, online=GOING, new=("new-0", "new-1"))
    assert just_made(MOVE, before, GOING, NOW) == {"new-0", "new-1"}
    assert unserved(MOVE, before, GOING) == ("a",)
    after = seen(*nodes, online=(*GOING, "new-0"), new=("new-0", "new-1"))
    assert just_made(MOVE, after, GOING, NOW) == {"new-1"}
    assert unserved(MOVE, after, GOING) == ()


def test_nobody_waits_for_what_failed_long_ago() -> None:
    assert just_made(MOVE, seen("old-0", "new-0", online=GOING), GOING, NOW) == frozenset()


def test_nobody_waits_where_nobody_serves() -> None:
    idle = seen("old-0", "new-0", new=("new-0",))
    assert just_made(MOVE, idle, GOING, NOW) == frozenset()
    assert unserved(MOVE, idle, GOING) == ()


def test_a_pool_of_another_name_that_serves_the_same_repository_is_waited_for() -> None:
    renamed = fleet(slot("old-0"), slot("new-0", "b"), slot("far-0", "c", serves=("lab/other",)))
    observed = seen("old-0", "new-0", "far-0", online=("old-0",), new=("new-0", "far-0"))
    assert just_made(renamed, observed, ("old-0",), NOW) == {"new-0"}
    assert unserved(renamed, observed, ("old-0",)) == (), "the old pool is to go as a whole"


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
def test_who_serves(one: Wanted, observed: Observed, is_served: bool) -> None:
    assert serves(one, fleet(one), observed) == is_served


def test_a_repository_that_is_served_no_more_and_does_not_answer_lets_nobody_serve_unheard() -> None:
    silent = Source(known=False, reason="it was deleted")
    observed = replace(seen("old-0", "new-0", online=("old-0",), new=("new-0",)), left={"repos/lab/gone": silent})
    move = fleet(slot("old-0"), slot("new-0"))
    assert just_made(move, observed, ("old-0",), NOW) == {"new-0"}
    assert unserved(move, observed, ("old-0",)) == ("a",)
