"""The promise of nights, whole: 30 nights and five labelled runs with all that may go wrong, on the local cloud."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from infra.fleet.google import clients
from infra.model.catalogue import CapacityKind
from infra.model.dollars import NOTHING
from infra.model.schema import StackConfig, Window
from infra.model.stack import load_stack
from infra.model.usage import vm_cost
from infra.model.week import standing
from infra.operations.money import cost
from infra.operations.ports import CloudName
from tests.fleet.simulation.played_vm import Planned
from tests.fleet.simulation.simulated_month import GRACE, REPOSITORY, A, B, Month, outlived
from tests.synthetic_lab import steady

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

BEGINS, ENDS = datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
RESULTS = "  tidepool:results: {bucket: {name: lab-results, location: us-central1}, kept_days: 400, suites: []}\n"
NIGHTS = 30
BEFALLS = {9: "preempted", 14: "cancelled", 16: "killed", 26: "preempted"}
NO_CAPACITY, ONE_ZONE_SHORT = 8, (3, 28)
FLAKY, LESS_COVERED, SLOWER = 6, 12, 20
LABELS = {5: "", 13: "", 23: "", 25: "", 27: "killed early"}
"""Days on which a pull request is labelled: while less is covered, while the suite is slower, and before."""


def planned() -> list[Planned]:
    """Every night at two, every label at two in the afternoon."""
    short = {NO_CAPACITY: 2} | dict.fromkeys(ONE_ZONE_SHORT, 1)
    nights = [
        _run(f"n{day}", day, 2, befalls=BEFALLS.get(day, ""), flaky=day == FLAKY, zones=short.get(day, 0))
        for day in range(1, NIGHTS + 1)
    ]
    labelled = [_run(f"p{day}", day, 14, pull=at, befalls=LABELS[day]) for at, day in enumerate(LABELS, 1)]
    return sorted((*nights, *labelled), key=lambda each: each.at)


def _run(run: str, day: int, hour: int, **more: object) -> Planned:
    """Of the tree that stands that day: what is planted stays."""
    at = BEGINS + timedelta(days=day - 1, hours=hour)
    share, coverage = 1.25 if day >= SLOWER else 1.0, 76.0 if day >= LESS_COVERED else 80.0
    return Planned(run=run, at=at, share=share, coverage=coverage, **more)  # ty: ignore[invalid-argument-type]


@contextmanager
def laboratory(cloud: TestCloud, folder: Path, runs: Sequence[Planned], patch: pytest.MonkeyPatch) -> Generator[Month]:
    """A checkout with the stack, a commit for each run, the pull requests, and nothing that stands."""
    stacks, work = folder / "lab" / "stacks", folder / "work"
    stacks.mkdir(parents=True)
    text = steady("nightly").partition("  tidepool:results:")[0].replace(f"zones: [{A}]", f"zones: [{A}, {B}]")
    (stacks / "Pulumi.nightly.yaml").write_text(text + RESULTS)
    patch.setenv("TIDEPOOL_ROOT", str(folder / "lab"))
    patch.setenv("TIDEPOOL_HOME", str(folder / "home"))
    patch.setattr("infra.operations.session.reached", lambda *_: cloud.url)
    commits = _commits(work, [each.run for each in runs])
    patch.chdir(work)
    config = load_stack(folder / "lab", "nightly", alone=True)
    with clients(config.project, cloud.url) as google:
        month = Month(cloud, config, google, folder, commits)
        for each in runs:
            if each.pull is not None:
                assert month.github.open_pull(REPOSITORY, branch="edit", sha=commits[each.run]) == each.pull
        yield month


def _commits(work: Path, runs: Sequence[str]) -> dict[str, str]:
    """A repository with a commit and a tree for each run, by run."""
    told = "".join(
        f"commit refs/heads/main\nmark :{mark}\ncommitter a <a@b> {mark} +0000\ndata 1\nx\n"
        f"M 644 inline run\ndata {len(run)}\n{run}\n"
        for mark, run in enumerate(runs, 1)
    )
    subprocess.run(["git", "init", "-q", work], check=True)
    subprocess.run(
        ["git", "fast-import", "--quiet", "--export-marks=marks"], input=told, text=True, cwd=work, check=True
    )
    marked = dict(line.split() for line in (work / "marks").read_text().splitlines())
    return {run: marked[f":{mark}"] for mark, run in enumerate(runs, 1)}


def calendar(month: Month, runs: Sequence[Planned]) -> StackConfig:
    """The runs that ended well as windows of a stack file: ten minutes each, eleven once the suite is slower."""
    days: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for each in runs:
        ended = month.ended[each.run]
        if ended is not None and ended.done:
            days[ended.zone, each.at.hour, 10 if each.share == 1.0 else 11].append(each.at.day)
    windows = tuple(
        Window(
            name=f"w{number}", start=f"0 {hour} {','.join(map(str, on))} 12 *", duration=f"{minutes}m",
            time_zone="UTC", adds={zone: 1},
        )
        for number, ((zone, hour, minutes), on) in enumerate(days.items())
    )  # fmt: skip
    pool = month.config.pool("nightly-v6e")
    return month.config.model_copy(
        update={"pools": (pool.model_copy(update={"zones": {A: 0, B: 0}, "windows": windows}),)}
    )


def forecast(month: Month, runs: Sequence[Planned]) -> Decimal:
    """What the calendar says of the runs that ended well, and the others for as long as the cloud had their VMs."""
    well = {run for run, ended in month.ended.items() if ended is not None and ended.done}
    others = [
        vm_cost("v6e-1", each.zone, CapacityKind.PREEMPTIBLE, Decimal(each.until - each.ready))
        for each in month.stood.values()
        if each.run not in well and each.ready is not None
    ]
    hours = [each.usd for each in standing(calendar(month, runs), BEGINS, ENDS)]
    total = sum((*hours, *others), NOTHING).exact
    assert total is not None
    return total


def stretches(month: Month, runs: Sequence[Planned]) -> list[tuple[str, str, str, str]]:
    """What reports told: kind, subject, and the first and the last run in a row that told it."""
    told: list[tuple[str, str, str, str]] = []
    before: set[tuple[str, str]] = set()
    for run in (each.run for each in runs if each.run in month.reports and each.pull is None):
        now = {(finding["kind"], finding["subject"]) for finding in month.reports[run]["findings"]}
        told = [(*each[:3], run) if each[:2] in now & before else each for each in told]
        told += [(*each, run, run) for each in sorted(now - before)]
        before = now
    return told


@pytest.mark.heavy
def test_a_month_of_nights_keeps_its_promise(cloud: TestCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = planned()
    with laboratory(cloud, tmp_path, runs, monkeypatch) as month:
        for each in runs:
            month.run(each)
        month.wait_until(ENDS.timestamp())
        spent = cost("nightly", "2026-12", CloudName.LOCAL, now=ENDS)

        late = {name: outlived(each, month) for name, each in month.stood.items()}
        assert max(late.values()) <= GRACE, late
        assert {each.zone for each in month.stood.values()} == {A, B}
        assert cloud.control.nodes() == []

        filed = {each.run: month.day(each)[each.run].reason for each in runs if each.run not in month.reports}
        assert filed == {
            "n8": "stockout", "n9": "taken-back", "n14": "cancelled", "n16": "client-lost", "n26": "taken-back",
            "p27": "client-lost",
        }  # fmt: skip

        expected = forecast(month, runs)
        assert abs(spent.total.usd.known / expected - 1) < Decimal("0.02"), (spent.total, expected)
        assert {line.key for line in spent.runs} == {each.run for each in runs} - {"n8"}

        assert stretches(month, runs) == [
            ("flaky", "t.loose", "n6", "n6"), ("coverage", "tpu", "n12", "n15"), ("slower", "tpu", "n22", "n30"),
        ]  # fmt: skip
        nights = [month.reports[each.run] for each in runs if each.run in month.reports and each.pull is None]
        labelled = [month.reports[each.run] for each in runs if each.run in month.reports and each.pull is not None]
        became = [each["posted"]["issue"].partition(" ")[0] for each in nights]
        changes = [after for before, after in pairwise(became) if after != before]
        assert changes == ["created", "updated", "closed", "clean", "reopened", "updated"], became
        assert [(each["findings"], each["posted"]["status"]) for each in labelled] == [([], "success")] * 4
