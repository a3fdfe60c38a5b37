"""Days ahead: what stands when, the most chips of each hour, what limits leave, and dollars."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from infra.model.dollars import NOTHING
from infra.model.week import WHEN_ASKED, Week, week
from tests.model.clustered import CLUSTER, clustered
from tests.model.given import parse, pool, sibling, stack_text

MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
NIGHT = "{name: night, start: 0 22 * * *, duration: 4h, time_zone: UTC, adds: {us-west4-a: 2}}"
QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, chips: 64, kind: preemptible}\n"


def days(pools: str = "", begin: datetime = MONDAY, **sections: str) -> Week:
    return week([parse(stack_text(pools=pools or pool(windows=f"[{NIGHT}]"), **sections))], begin)


def test_a_week_has_what_always_stands_and_each_opening_cut_at_its_ends() -> None:
    found = days()
    always, *nights = found.standing
    assert (always.window, always.vms, always.end - always.start) == (None, 1, timedelta(days=7))
    assert [each.hours for each in nights] == [2, 4, 4, 4, 4, 4, 4, 2], "the first began on Sunday, the last goes on"
    assert {each.chips for each in nights} == {8}


def test_an_hour_has_the_most_chips_of_any_of_its_minutes() -> None:
    half = NIGHT.replace("0 22", "30 22").replace("4h", "15m")
    chips = {each.at: each.chips for each in days(pool(windows=f"[{half}]")).chip_hours}
    assert [chips[MONDAY + timedelta(hours=each)] for each in (21, 22, 23)] == [4, 12, 4]
    assert len(chips) == 7 * 24


@pytest.mark.parametrize(
    ("counts", "usd", "worst", "rows"),
    [
        ({"number": 2}, "$645.12", "$645.12", [(None, 2)]),
        ({"buffer": 1, "maximum": 3}, "$322.56 + ?", "$967.68", [(None, 1), (WHEN_ASKED, 2)]),
        ({"buffer": 0, "maximum": 3}, "?", "$967.68", [(WHEN_ASKED, 3)]),
        ({"number": 0}, "$0.00", "$0.00", []),
    ],
    ids=str,
)
def test_slices_of_a_cluster_are_in_the_week_and_what_pods_ask_for_is_not_known(
    counts: dict[str, int], usd: str, worst: str, rows: list[tuple[str | None, int]]
) -> None:
    entry = {"accelerator": "v5litepod-4", "zone": "us-west4-a", "capacity": "spot"} | counts
    place = {"region": "us-west4", "zones": ["us-west4-a"]}
    config = clustered(cluster=CLUSTER | place, slices=[entry]).model_copy(update={"pools": ()})
    found = week([config], MONDAY)
    assert (str(found.usd), str(found.worst)) == (usd, worst)
    assert [(each.window, each.vms) for each in found.standing] == rows
    assert (found.to_json()["usd"] is None) is ("?" in usd)


def test_a_limit_says_the_most_that_is_drawn_and_when_with_other_stacks() -> None:
    other = sibling(pools=pool(name="theirs", windows=f"[{NIGHT.replace('0 22', '0 1')}]"))
    config = parse(stack_text(pools=pool(windows=f"[{NIGHT}]"), quotas=QUOTA))
    (limit,) = week([config], MONDAY, others=[other]).limits
    assert (limit.used, limit.at) == (4 + 4 + 8 + 8, MONDAY + timedelta(hours=1))


def test_reserved_chips_cost_nothing_more_and_a_lacking_price_is_told() -> None:
    reserved = pool(capacity="{reserved: held}", windows=f"[{NIGHT}]")
    held = "- {name: held, project: my-lab, zone: us-west4-a, generation: v5e, chips: 64}\n"
    assert days(reserved, reservations=held).usd == NOTHING
