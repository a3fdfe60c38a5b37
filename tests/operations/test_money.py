"""Which records the money of a month is read from."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from infra.cli.app import cli
from infra.fleet.google import GoogleError
from infra.model import bucket_names
from infra.model.catalogue import CapacityKind
from infra.model.dollars import NOTHING, Dollars
from infra.model.run_records import RunVmRecord, day_body
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from infra.model.stood import StoodDay
from infra.model.usage import month_cost, vm_cost
from infra.operations import money
from infra.operations.money import declared_cost, run_usages, stood, unmeasured
from tests.model.clustered import CLUSTER, clustered
from tests.model.given import parse, pool, stack_text
from tests.synthetic_lab import the_lab

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def record(vm: str, start: datetime | None, end: datetime | None, *, hours: int = 1) -> RunVmRecord:
    asked = int((start or NOW).timestamp())
    return RunVmRecord(
        vm=vm, run=f"run-{vm}", suite="tpu", stack="nightly", pool="nightly-v6e", accelerator="v6e-1",
        zone="us-central1-b", capacity=CapacityKind.SPOT, asked=asked, expires=asked + hours * 3600,
        start=None if start is None else asked, end=None if end is None else int(end.timestamp()),
    )  # fmt: skip


class Bodies:
    """Records by name."""

    bucket = "fleet"

    def __init__(self, bodies: dict[str, Any]) -> None:
        self.bodies = bodies

    def body(self, name: str) -> Any:
        return self.bodies.get(name)


def test_a_run_is_paid_from_ready_to_its_end_and_one_that_nobody_ended_until_its_time_was_over() -> None:
    began = NOW - timedelta(hours=5)
    day = day_body(
        [
            record("done", began, began + timedelta(minutes=6)),
            record("killed", began, None, hours=2),
            record("none", None, NOW),
            replace(record("other", began, NOW), stack="of another stack in this bucket"),
        ]
    )
    records: Any = Bodies({bucket_names.run_day_object(date(2026, 11, 20)): day})
    found = {each.vm: each for each in run_usages(records, "nightly", [date(2026, 11, 19), date(2026, 11, 20)], NOW)}
    assert {vm: each.seconds for vm, each in found.items()} == {"done": 360, "killed": 7200}
    assert (found["done"].suite, found["done"].pool, found["done"].run) == ("tpu", "nightly-v6e", "run-done")


def test_a_record_that_cannot_be_read_is_named() -> None:
    records: Any = Bodies({bucket_names.stood_day_object("nightly", NOW.date()): {"version": 2}})
    with pytest.raises(ValueError, match=r"gs://fleet/control/nightly/days/2026-11-20.json: .* at version: "):
        list(stood(records, "nightly", [NOW.date()]))


def test_the_rest_of_a_month_costs_what_the_calendar_says_and_what_pods_ask_for_is_not_known() -> None:
    def lab(windows: str = "[]") -> StackConfig:
        pools = pool(name="night", accelerator="v6e-1", zones="{us-central1-b: 0}", capacity="spot", windows=windows)
        return parse(stack_text(pools=pools))

    weekly = "[{name: week, start: 0 2 * * 1, duration: 2h, time_zone: UTC, adds: {us-central1-b: 1}}]"
    hour = vm_cost("v6e-1", "us-central1-b", CapacityKind.SPOT, Decimal(3600))
    end = datetime(2026, 12, 1, tzinfo=UTC)
    assert declared_cost(lab(), NOW, end) == NOTHING
    drained = Decimal(2 + 10) / 60
    assert declared_cost(lab(weekly), NOW, end).known == 2 * (2 + drained) * hour.known, "the 23rd and the 30th"
    assert declared_cost(lab(weekly), end, end) == NOTHING
    last_moment = datetime(2026, 11, 30, 4, tzinfo=UTC) - timedelta(milliseconds=1)
    assert declared_cost(lab(weekly), last_moment, end) == NOTHING
    clustered = load_stack(the_lab(), "training", alone=True)
    assert clustered.slices
    assert str(declared_cost(clustered.model_copy(update={"pools": ()}), NOW, end)) == "?", (
        "slices that pods may ask for"
    )


SLICES = "- {accelerator: v5litepod-4, zone: us-west4-a, capacity: spot, %s}\n"


def sliced(counts: str) -> StackConfig:
    place = {"region": "us-west4", "zones": ["us-west4-a"]}
    return clustered(cluster=CLUSTER | place, slices=[yaml.safe_load(SLICES % counts)[0]]).model_copy(
        update={"pools": ()}
    )


@pytest.mark.parametrize(
    ("config", "ago", "reason"),
    [
        (parse(stack_text()), None, "VMs of pools: no sweep of the controller has recorded them"),
        (parse(stack_text()), 19, ""),
        (parse(stack_text()), 21, "VMs of pools since the last sweep, at 2026-11-20 11:39 UTC"),
        (parse(stack_text()), 60 * 24 * 25, "VMs of pools: no sweep of the controller has recorded them"),
        (parse(stack_text(pools="[]\n")), None, ""),
        (sliced("number: 1"), None, "how long slices of cluster train existed"),
    ],
    ids=["no sweep", "now", "late", "last month", "no pools", "slices"],
)
def test_what_nobody_measured_makes_the_cost_unknown_and_gives_no_verdict(
    config: StackConfig, ago: int | None, reason: str
) -> None:
    days = [] if ago is None else [StoodDay(seen=NOW - timedelta(minutes=ago))]
    missing = unmeasured(config, days, datetime(2026, 11, 1, tzinfo=UTC), NOW)
    assert missing.reasons == ((reason,) if reason else ())
    found = month_cost("ci", "2026-11", (), NOW, priced="x", unmeasured=missing, budget=Decimal(1))
    told = found.to_json()
    nothing = None if reason else 0.0
    assert (told["spent"], told["forecast"], told["total"]["usd"], told["total"]["atLeastUsd"]) == (*[nothing] * 3, 0.0)
    assert (told["overBudget"], told["unknown"]) == (None if reason else False, [reason] if reason else [])
    over = month_cost("ci", "2026-11", (), NOW, priced="x", unmeasured=missing + Dollars(Decimal(2)), budget=Decimal(1))
    assert over.over_budget, "the known part alone is more"


def _fleets(monkeypatch: pytest.MonkeyPatch, statuses: dict[str, int]) -> None:
    """Fleets whose buckets answer with these statuses; those of other stacks have no record."""

    class Silent:
        def __init__(self, stack: str) -> None:
            self.stack = stack

        def clock(self) -> datetime:
            return NOW

        def records(self) -> Any:
            raise GoogleError("looking up gs://fleet", "no", status=statuses[self.stack])

    def of_fleet(fleet: Any, month: str, now: datetime) -> Any:
        return month_cost(fleet.stack, month, [], now, priced="2026-08-01", budget=None)

    real = money._of_fleet
    config = load_stack(the_lab(), "nightly", alone=True)
    monkeypatch.setattr(
        money, "open_fleet", lambda stack, *_: SimpleNamespace(stack=stack, config=config, place=Silent(stack))
    )
    monkeypatch.setattr(
        money, "_of_fleet", lambda fleet, *rest: (real if fleet.stack in statuses else of_fleet)(fleet, *rest)
    )
    monkeypatch.setattr(money, "clock_without_cloud", lambda _: lambda: NOW)
    monkeypatch.setattr(money, "known_stacks", lambda: ("ci", "nightly", "training"))


def test_a_stack_that_is_not_up_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    _fleets(monkeypatch, {"nightly": 404, "training": 404})
    told = CliRunner().invoke(cli, ["cost"])
    assert told.exit_code == 0, told.output
    assert "ci in 20" in told.stdout
    assert "nightly: not deployed, so it cost nothing. Run `./tidepool up nightly`." in told.stdout
    found = json.loads(CliRunner().invoke(cli, ["cost", "--json"]).stdout)
    assert [each["stack"] for each in found["stacks"]] == ["ci"]
    assert (found["notUp"], found["problems"], found["exit"]) == (["nightly", "training"], [], 0)


def test_a_month_goes_by_the_clouds_own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    _fleets(monkeypatch, {})
    assert "ci in 2026-11: $0.00 until 20 Nov 12:00 UTC" in CliRunner().invoke(cli, ["cost", "ci"]).stdout
    assert "2026-12 has not begun" in CliRunner().invoke(cli, ["cost", "ci", "--month", "2026-12"]).stderr
    monkeypatch.setattr(f"{__name__}.NOW", NOW + timedelta(days=30))
    assert "ci in 2026-12: $0.00 until 20 Dec 12:00 UTC" in CliRunner().invoke(cli, ["cost", "ci"]).stdout
