"""Every declared VM that does not serve is told with the one cause that people need, and a zone with its limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from infra.fleet.controller.desired import Desired
from infra.fleet.controller.observed import Observed
from infra.fleet.status.missing import Cause, Judged, MissingVm
from tests.fleet.controller.given_fleet import (
    HOME,
    START,
    fleet,
    minutes,
    nodes,
    quota,
    seen,
    served,
    sweeps,
)
from tests.fleet.status.given_scene import scene

LOST = f"tpu-ci-{HOME}-0"


def judged(desired: Desired, observed: Observed | None = None, **given: Any) -> Judged:
    found = Judged.of(scene(desired, observed, **given))
    assert found is not None
    return found


def lacking(desired: Desired, state: str = "", **given: Any) -> Observed:
    """The first VM is in another state than READY, or not there."""
    return seen(desired, nodes=nodes(desired, s0=state), runners=served(desired, but=(LOST,)), **given)


def the_one(found: Judged) -> MissingVm:
    (only,) = found.missing()
    return only


def test_one_that_is_made_next_or_held_by_a_limit_says_so() -> None:
    desired = fleet(2)
    memory = sweeps(desired, lacking(desired), 1)[-1].memory
    made = judged(desired, lacking(desired), memory=replace(memory, creating={}), at=START + minutes(2))
    assert (the_one(made).cause, the_one(made).says) == (Cause.MAKING, "the next sweep makes it")
    full = fleet(2, caps=(quota(4),))
    held = the_one(judged(full, lacking(full), memory=replace(memory, creating={}), at=START + minutes(30)))
    assert held.cause is Cause.HELD
    assert "4 of 4 chips are in use" in held.says
