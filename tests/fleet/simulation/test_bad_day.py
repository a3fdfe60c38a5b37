"""Which alerts a bad day raises: docs/serving.md says it, and simulated fleets live through each trouble of it.

The lines are those of the controller and of the broker, and whether an alert is open is asked of `watched`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.status.queue import JobsSeen
from infra.fleet.sweep_log import swept_lines, unswept_line
from infra.model import bucket_names
from infra.model.manifest import manifest
from tests.cli.fleet.watched import ALERTS, Watch
from tests.fleet.simulation.fleet_life import EVERY, Life, fleets, grow_up, in_process
from tests.fleet.simulation.google_faults import LOSS_AN_HOUR, becomes, zone_lost
from tests.fleet.simulation.google_in_process import refusal
from tests.fleet.simulation.simulated_world import World
from tests.model.given import parse, pool, stack_text

PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "serving.md"
HOURS: Final = 3
SELDOM: Final = 4
"""After so many sweeps it is asked which alerts are open: each counts what was printed in ten minutes."""
HOME: Final = "us-west4-a"
FALLBACKS: Final = {"Without a fallback": False, "With a fallback": True}
QUOTAS: Final = "".join(
    f"- {{project: my-lab, zone: {zone}, generation: v5e, kind: preemptible, chips: 24}}\n"
    for zone in ("us-west4-a", "europe-west4-b")
)


def refuses(life: Life, status: int, text: str, but: str = "") -> None:
    """Creates are refused, but of one VM."""
    create = life.world.tpus.create

    def answer(name: str, body: dict[str, Any]) -> dict[str, Any]:
        if but and name.endswith(but):
            return create(name, body)
        raise refusal(status, text)

    life.world.tpus.create = answer


def lose_five(life: Life, state: str = "PREEMPTED") -> None:
    for index in range(5):
        node = life.world.tpus.of_slot(index)
        assert node is not None
        node.stuck = state == "DELETING"
        becomes(life, index, state)


def quota_refused(life: Life) -> None:
    refuses(life, 429, "Quota limit 'TPUV5sPreemptibleLitepodPerProjectPerZone' has been exceeded.")
    zone_lost(life, HOME)


def creates_refused(life: Life) -> None:
    refuses(life, 400, "The runtime version does not exist.", but="-0")
    lose_five(life)


def zone_unlistable(life: Life) -> None:
    listed = life.world.tpus.listed

    def answer(zone: str) -> list[dict[str, Any]]:
        if zone == HOME:
            raise refusal(403, "Permission 'tpu.nodes.list' denied.")
        return listed(zone)

    life.world.tpus.listed = answer


def requests(life: Life, *versions: bytes) -> None:
    for content in versions:
        life.world.write(bucket_names.requests_object("ci"), content)


def github_refuses(life: Life) -> None:
    def answers() -> NoReturn:
        raise Refused(Reason.GITHUB_REFUSED, "403")

    life.world.github._answers = answers


def creates_come_to_nothing(life: Life) -> None:
    life.world.tpus.ghosts.update(dict.fromkeys((HOME, "europe-west4-b"), life.world.now + 3600 * HOURS))
    lose_five(life)


def no_capacity(life: Life) -> None:
    life.world.tpus.stockouts[HOME] = life.world.now + 3600 * HOURS
    zone_lost(life, HOME)


def fifth_an_hour(life: Life) -> None:
    for turn in range(int(6 * LOSS_AN_HOUR * HOURS)):
        life.world.plan(turn * 3600 / (6 * LOSS_AN_HOUR), partial(becomes, life, turn))


TROUBLES: Final[dict[str, Callable[[Life], Any]]] = {
    "all VMs of a zone are lost, and the quota refuses creates": quota_refused,
    "five VMs are lost, and creates are refused": creates_refused,
    "a zone cannot be listed": zone_unlistable,
    "GitHub answers 403": github_refuses,
    "five VMs are stuck in DELETING": lambda life: lose_five(life, "DELETING"),
    "five VMs are lost, and creates come to nothing": creates_come_to_nothing,
    "operator requests become unreadable": lambda life: requests(life, b"{}", b"[]"),
    "operator requests become unreadable, older versions too": lambda life: requests(life, b"[]"),
    "all VMs of a zone are lost, and the zone has no capacity": no_capacity,
    "Google takes a fifth of the VMs an hour": fifth_an_hour,
}


def documented() -> dict[str, dict[str, set[str]]]:
    """By trouble and column, the alerts that docs/serving.md names."""
    section = PAGE.read_text(encoding="utf-8").partition("### What a bad day raises")[2]
    header, _, *rows = re.findall(r"^\| .+ \|$", section.partition("\n**What")[0], flags=re.MULTILINE)
    columns = [cell.strip() for cell in header.strip("|").split("|")][1:]
    found = {}
    for row in rows:
        trouble, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        found[trouble] = {
            column: set() if cell == "none" else set(cell.split(", "))
            for column, cell in zip(columns, cells, strict=True)
        }
    return found


def newborn(*, fallback: bool) -> Life:
    if fallback:
        return Life(World(seed=0, manifest=fleets()[0]))
    zones = "{us-west4-a: 4, europe-west4-b: 2}"
    text = stack_text(
        pools=pool(name="tpu-ci", capacity="preemptible", serves="[a-lab/code]", zones=zones), quotas=QUOTAS
    )
    return Life(World(seed=0, manifest=manifest(parse(text), bundle="ab", startup_script="#!/bin/sh")))


def raised(life: Life, watch: Watch) -> set[str]:
    """The alerts that were open within the time of a trouble, those of a queue left out: no job's age is simulated."""
    found: set[str] = set()
    for sweep in range(int(3600 * HOURS / EVERY)):
        life.world.pass_until(life.world.now + EVERY)
        swept = life.tick()
        lines = swept_lines(swept, JobsSeen()) if swept else [unswept_line("ci", "", life.world.moment())]
        watch.printed(lines)
        watch.printed(life.world.refusals)
        life.world.refusals.clear()
        if sweep % SELDOM == 0:
            found |= {key for key in ALERTS.keys() - found if watch.open(key, life.world.moment())}
    return found


def test_every_trouble_is_documented() -> None:
    assert documented().keys() == TROUBLES.keys()
    assert all(columns.keys() == FALLBACKS.keys() for columns in documented().values())


@pytest.mark.parametrize("column", FALLBACKS)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_trouble_raises_the_alerts_that_are_documented_and_no_other(trouble: str, column: str) -> None:
    life = newborn(fallback=FALLBACKS[column])
    with in_process():
        grow_up(life)
        life.world.refusals.clear()
        TROUBLES[trouble](life)
        assert raised(life, Watch()) == documented()[trouble][column]
