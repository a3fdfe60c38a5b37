"""All that is told of whole scenes, as JSON: a fleet in which everything goes wrong at once, and one that is dark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.fleet.controller import by_hour
from infra.fleet.controller.decide import decide
from infra.fleet.controller.events import EventKind, FleetEvent, Result, Verb
from infra.fleet.controller.keys import BackoffKey
from infra.fleet.controller.memory import EMPTY, Backoff, Creating
from infra.fleet.controller.observed import Trouble, unknown
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.controller.sweep import Swept
from infra.fleet.operator_requests import DrainRequest, OperatorRequests, Undone
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.status.derive import status
from infra.fleet.status.explained import job_waits, pool_why, zone_why
from infra.fleet.status.look import Scene
from infra.fleet.status.missing import Judged
from infra.fleet.status.timeline import timeline
from infra.fleet.sweep_log import swept_lines, unkeyed_line
from infra.fleet.versions import PartKind, PoolVersion, Rollout, Stage, VersionPart
from infra.model.catalogue import CapacityKind
from infra.model.offers import Offer
from infra.model.schema import Trust
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    fleet,
    minutes,
    node,
    nodes,
    place,
    quota,
    runner,
    seen,
    served,
    sweeps,
)
from tests.fleet.controller.test_windows_kept import EVENING, pool, window
from tests.fleet.status.given_scene import queued, scene, waiting

GOLDEN = Path(__file__).parents[1] / "golden" / "scenes.json"
VMS = [f"tpu-ci-{HOME}-{index}" for index in range(8)]
LATER = START + minutes(30)
LABELS = {"tpu-ci": frozenset({"TPU", "tpu-ci"})}
OLD, NEW = PoolVersion(bundle="a" * 64), PoolVersion(bundle="b" * 64)
DRAINS = (
    DrainRequest(subject=VMS[5], by="ada", since=START - minutes(5), minutes=60),
    DrainRequest(subject="another-pool", by="bob", since=START, minutes=60),
)
REPORT: dict[str, Any] = {
    "at": "2026-11-21T10:09:00Z",
    "phase": "busy",
    "reason": "a reason",
    "boot": [
        {"step": "pull-image", "began": "2026-11-21T10:01:00Z", "ended": "2026-11-21T10:03:00Z", "outcome": "done"},
        {"step": "warm", "ended": "2026-11-21T10:03:30Z", "outcome": "failed", "reason": "no"},
        {"step": "warmer", "ended": "2026-11-21T10:03:30Z", "outcome": "done"},
    ],
    "events": [
        {"at": "2026-11-21T10:01:00Z", "event": "step-began", "step": "pull-image"},
        {"at": "2026-11-21T10:01:05Z", "event": "step-began", "step": "never-ended"},
        {"at": "2026-11-21T10:03:30Z", "event": "phase", "phase": "cleaning"},
        {"at": "2026-11-21T10:04:00Z", "event": "phase", "phase": "registering"},
        {"at": "2026-11-21T10:04:20Z", "event": "phase", "phase": "unfit", "reason": "no TPU"},
        {"at": "2026-11-21T10:05:00Z", "event": "registered", "runner": f"{VMS[3]}-0a0b0c"},
        {"at": "2026-11-21T10:06:00Z", "event": "job-began", "job": "tests", "runner": f"{VMS[3]}-0a0b0c"},
        {"at": "2026-11-21T10:07:00Z", "event": "job-ended", "job": "tests", "result": "Succeeded"},
        {"at": "2026-11-21T10:08:00Z", "event": "something-new", "colour": "blue"},
    ],
}
BINDING = {
    "since": "2026-11-21T10:05:02+00:00",
    "instance": "77",
    "asked": ["2026-11-21T10:05:02+00:00", "2026-11-21T10:30:00+00:00", "2026-11-21T10:31:00+00:00"],
}
BINDINGS = {VMS[3]: BINDING, VMS[2]: {"since": "2026-11-21T10:05:02+00:00"}}
SWEEP = {
    "at": START.isoformat(),
    "settled": False,
    "fuse": True,
    "freeze": "the holidays",
    "actions": [
        {"do": "create", "subject": VMS[0], "result": "failed", "text": "no capacity"},
        {"do": "report", "subject": "x", "result": "done", "text": ""},
        {"do": "recreate", "subject": VMS[1], "result": "deferred", "text": ""},
        {"do": "delete", "subject": VMS[2], "result": "changed", "text": ""},
        {"do": "create", "subject": VMS[2], "result": "left", "text": ""},
    ],
}
ELSEWHERE = Offer(
    stack="more",
    pool="tpu-v4",
    labels=frozenset({"tpu", "tpu-v4"}),
    trust=Trust.MEMBER,
    serves=frozenset({"a-lab/more"}),
    zones=(),
    preemptible=True,
)
JOBS = queued(
    waiting(START - minutes(5), "tpu", "gpu"),
    waiting(START - minutes(9), "tpu", "gpu"),
    waiting(START - minutes(7), "TPU-V4", "tpu"),
    waiting(START - minutes(3), "tpu-v4", "tpu-ci"),
    waiting(START, "tpu-ci"),
    waiting(START - minutes(2), "tpu", "TPU-CI"),
    waiting(START - minutes(40), "tpu", repository="another/code"),
    waiting(START, "tpu-v4", repository="a-lab/more"),
    waiting(START, "ubuntu-24.04-16core"),
    waiting(START),
)


def mess() -> Scene:
    """One VM each is lost, not made, booting, silent, away, drained; others are nobody's."""
    spot = place(AWAY, CapacityKind.SPOT)
    desired = fleet(8, fallbacks=(spot,), caps=(quota(32), quota(8, AWAY)))
    memory = sweeps(desired, seen(desired), 2)[-1].memory
    there = (
        *nodes(desired, s0="PREEMPTED", s1="", s2="", s4="", s7=""),
        node(VMS[2], "CREATING", created=(LATER - minutes(5)).isoformat()),
        node(VMS[4], zone=AWAY, capacity=CapacityKind.SPOT),
        node(f"tpu-ci-{HOME}-9"),
        node("somebody", labels={}),
    )
    lost = [runner(f"tpu-ci-{HOME}-{index}", number=70 + index, online=index == 7) for index in (7, 8)]
    observed = seen(
        desired,
        nodes=there,
        runners=(
            *served(desired, but=(*VMS[:4], *VMS[5:])),
            runner(VMS[6], number=60, busy=True),
            *(replace(each, name=each.name.replace(f"{HOME}-7", f"{HOME}-17")) for each in lost),
            runner("another-lab-0", number=71),
        ),
        reports={
            vm: ReportSeen(vm=vm, pool="tpu-ci", phase=Phase.PULLING, at=START, reason="it is slow") for vm in VMS[2:4]
        },
        requests=OperatorRequests(drains=DRAINS, lost={"us-east1-c": "ada"}),
        targets={"tpu-ci": NEW},
    )
    memory = sweeps(desired, observed, 4, memory=memory, start=START + minutes(10))[-1].memory
    failed = Backoff(
        failures=2, trouble=Trouble.STOCKOUT, last=LATER - minutes(1), until=LATER + minutes(5), since=START
    )
    rolling = Rollout(stage=Stage.ROLLING, since=START, stable=OLD, target=NEW, waiting={VMS[3]: START})
    gone = FleetEvent(at=LATER - minutes(2), subject=f"{VMS[0]}-0a0b0c", what="removeRunner: its VM is gone")
    anew = FleetEvent(
        at=LATER - minutes(5), subject=VMS[2], what="it is not there", kind=EventKind.DECIDED, verb=Verb.CREATE
    )
    memory = replace(
        memory,
        events=(*memory.events, gone, anew),
        creating={
            vm: Creating(zone=HOME, capacity=CapacityKind.PREEMPTIBLE, at=LATER - minutes(ago))
            for vm, ago in ((VMS[2], 6), (VMS[7], 3))
        },
        backoff={BackoffKey(HOME, "v5litepod-4", CapacityKind.PREEMPTIBLE): failed},
        rollouts={"tpu-ci": rolling},
    )
    return scene(
        desired, observed, memory=memory, at=LATER, sweep=SWEEP, jobs=JOBS, neighbours=(ELSEWHERE,), labels=LABELS
    )


def dark() -> Scene:
    """Nothing answers, and a rollout failed."""
    desired = fleet(2)
    observed = seen(desired, zones={HOME: unknown("503")}, nodes=(), runners=(), github=unknown("no token"))
    undone = (Undone(VersionPart(PartKind.BUNDLE, "b" * 64), START),)
    observed = replace(observed, targets={"tpu-ci": NEW}, requests=OperatorRequests(undone={"tpu-ci": undone}))
    memory = replace(EMPTY, rollouts={"tpu-ci": Rollout(stable=OLD, target=OLD, since=START)})
    return scene(desired, observed, memory=memory, problems=("the memory cannot be read",))


def held() -> Scene:
    """A limit is full, while a VM is missing, and one that served an hour ago is not heard."""
    desired = fleet(3, caps=(quota(8),))
    observed = seen(desired, nodes=nodes(desired, s0=""), runners=served(desired, but=(VMS[0], VMS[1])))
    memory = sweeps(desired, seen(desired), 2)[-1].memory
    memory = sweeps(desired, observed, 3, memory=memory, start=START + minutes(4))[-1].memory
    return scene(desired, observed, memory=replace(memory, creating={}), at=START + minutes(30))


def closed() -> Scene:
    """A window that is not open yet."""
    return scene(by_hour.at(pool(window(), standing=1), EVENING, EMPTY), at=EVENING)


def odd() -> Scene:
    """A VM that is not READY, whose runner is online."""
    desired = fleet(1)
    return scene(desired, seen(desired, nodes=nodes(desired, s0="CREATING")))


SCENES: Mapping[str, Callable[[], Scene]] = {
    "mess": mess,
    "dark": dark,
    "held": held,
    "closed": closed,
    "odd": odd,
    "well": scene,
}


def told(name: str) -> dict[str, Any]:
    """What status, why and the timelines of every VM say."""
    one = SCENES[name]()
    judged = Judged.of(one)
    assert judged is not None
    vms = (*VMS[:4], VMS[5], VMS[6], f"tpu-ci-{HOME}-9", "somebody", "tpu-ci-nowhere-0") if name == "mess" else VMS[:1]
    lines = {vm: timeline(vm, one, REPORT if vm in VMS[2:4] else None, BINDINGS.get(vm)) for vm in vms}
    plain = {vm: {**each.to_json(), "stands": each.stands, "nowhere": each.nowhere} for vm, each in lines.items()}
    found = status(one)
    return {
        "status": {**found.to_json(), "unknown": [f"{each.subject}: {each.reason}" for each in found.unknown]},
        "well": [each.well for each in found.pools],
        "pool": pool_why(judged, "tpu-ci").to_json(),
        "zones": {zone: zone_why(judged, zone).to_json() for zone in (HOME, AWAY)},
        "jobs": [each.to_json() for each in job_waits(judged)],
        "timelines": plain,
    }


def same(golden: Path, name: str, found: Any, *, update: bool) -> None:
    """Hold a part of a golden file to what was found, or write it."""
    plain = json.loads(json.dumps(found, default=str))
    whole = json.loads(golden.read_text()) if golden.exists() else {}
    if update:
        golden.write_text(json.dumps({**whole, name: plain}, indent=1, sort_keys=True) + "\n")
    else:
        assert plain == whole[name]


@pytest.mark.parametrize("name", SCENES)
def test_what_is_told_of_a_scene(name: str, update_goldens: bool) -> None:
    same(GOLDEN, name, told(name), update=update_goldens)


@pytest.mark.parametrize("name", ["mess", "dark", "held"])
def test_what_is_printed_of_a_sweep(name: str, update_goldens: bool) -> None:
    one = SCENES[name]()
    assert one.desired is not None
    assert one.observed is not None
    decision = decide(one.desired, one.observed, one.memory, one.at)
    results = (Result.DONE, Result.FAILED, Result.DEFERRED, Result.CHANGED)
    outcomes = tuple(
        ActionOutcome(action=action, result=result, text="no capacity" if result is Result.FAILED else "")
        for action, result in zip(decision.actions, results, strict=False)
    )
    swept = Swept(at=one.at, desired=one.desired, observed=one.observed, decision=decision, outcomes=outcomes)
    same(
        GOLDEN,
        f"sweep of {name}",
        [*swept_lines(swept, JOBS), unkeyed_line("ci", "no answer", one.at)],
        update=update_goldens,
    )
