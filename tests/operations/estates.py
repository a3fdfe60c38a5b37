"""A small estate with something of everything, and what of it may be lacking."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from infra.fleet.history import Applied, Change, Result, Verb
from infra.fleet.status.queue import Queue, Unserved
from infra.fleet.status.shape import FleetIssue, FleetStatus, PoolStatus
from infra.model.dollars import Dollars
from infra.model.fit import misfits
from infra.model.fleet import capacity
from infra.model.ledger import accounts
from infra.model.plan import Op, Status
from infra.model.stack import Reading, read_stack
from infra.model.usage import Line, MonthCost
from infra.model.week import week
from infra.operations.fleet.pools import PoolState
from infra.operations.report.estate import Estate, WorkflowsSeen
from infra.operations.stacks.history import Told
from infra.pages.kit import Lack
from infra.preview.explain import explain
from infra.preview.meaning import Facts
from infra.results.board import board
from tests.model.demanding import LAB, asking, demand
from tests.model.given import parse, pool, stack_text
from tests.pages.sample_results import sample_runs

NOW: Final = datetime(2026, 11, 23, 6, tzinfo=UTC)
NIGHT: Final = "{name: night, start: 0 22 * * *, duration: 4h, time_zone: UTC, adds: {us-west4-a: 2}}"
QUOTAS: Final = (
    "- {project: my-lab, zone: us-west4-a, generation: v5e, chips: 64, kind: preemptible}\n"
    "- {project: my-lab, zone: us-east1-d, generation: v6e, chips: 16, kind: preemptible}\n"
)
CONFIG: Final = parse(
    stack_text(
        pools=pool(name="tpu-ci", zones="{us-west4-a: 2}", labels="[tpu]", serves=f"[{LAB}]", windows=f"[{NIGHT}]"),
        quotas=QUOTAS,
    )
)


def estate(**fields: Any) -> Estate:
    """One stack of a pool of two VMs, of which one stands and two jobs wait. fields: in place of its own."""
    (row,) = capacity(CONFIG)
    demands = asking(demand())
    usual: dict[str, Any] = {
        "made": NOW,
        "cloud": "the local cloud",
        "stacks": {"ci": CONFIG},
        "unread": (),
        "pools": {"ci": (PoolState(row=row, states={"READY": 1, "MISSING": 1}),)},
        "limits": accounts(CONFIG),
        "week": week([CONFIG], NOW.replace(hour=0)),
        "statuses": (status(),),
        "images": Lack("Images are not known: `./tidepool up ci` makes the bucket."),
        "workflows": WorkflowsSeen(demands=demands, misfits=misfits([CONFIG], demands)),
        "works": (),
        "jobs": (),
        "money": {"ci": (month("2026-10"), month("2026-11", forecast=Decimal(40)))},
        "board": board({"slow": sample_runs()["slow"][-20:]}, (), NOW),
        "meanings": {"ci": explain(None, reading(), Facts(today=NOW))},
        "changes": {"ci": (told(1, ("pools[tpu-ci].zones.us-west4-a = 1 -> 2",)), told(0, None))},
    }
    return Estate(**usual | fields)


def reading() -> Reading:
    """A version with the same quotas and no window."""
    text = stack_text(pools=pool(name="tpu-ci", zones="{us-west4-a: 2}"), quotas=QUOTAS)
    return read_stack(text.encode(), stack="ci", source="stacks/Pulumi.ci.yaml")


def status() -> FleetStatus:
    issue = FleetIssue(subject="tpu-ci-us-west4-a-1", reason="not there: it is declared and does not exist", since=NOW)
    waits = Queue(waiting=2, oldest=NOW - timedelta(minutes=12))
    pools = PoolStatus(
        pool="tpu-ci", desired=2, ready=1, online=1, busy=1, away=0, queue=waits, unhealthy=(issue,), has_runners=True
    )
    vain = Unserved(repository=LAB, labels=("tpu-v9",), waiting=1, oldest=NOW, job="later", why="no pool has tpu-v9")
    return FleetStatus(stack="ci", at=NOW, pools=(pools,), unserved=(vain,))


def month(name: str, *, forecast: Decimal | None = None) -> MonthCost:
    line = Line(key="tpu-ci", vms=2, seconds=Decimal(7200), usd=Dollars(Decimal("12.5")))
    return MonthCost(
        stack="ci", month=name, until=NOW, total=replace(line, key="total"), runs=(), suites=(), pools=(line,),
        budget=Decimal(30), forecast=None if forecast is None else Dollars(forecast), priced="2026-08",
    )  # fmt: skip


def told(number: int, edit: tuple[str, ...] | None) -> Told:
    began = NOW - timedelta(hours=9 - number)
    applied = Applied(
        id=f"2026112{number}", stack="ci", verb=Verb.UP, by="ada", began=began, ended=began + timedelta(seconds=2),
        commit="0123456789abcdef", engine="local", result=Result.FAILED if number else Result.DONE,
        summary={"create": 1, "same": 5},
        changes=(Change(op=Op.CREATE, type="gcp:tpu/v2Vm:V2Vm", name="tpu-ci-us-west4-a-1", status=Status.DONE),),
    )  # fmt: skip
    return Told(applied=applied, edit=edit)


def nothing() -> Estate:
    """Of a checkout without a stack, on a machine without a cloud."""
    lack = Lack("The cloud is not known: there is none; `./tidepool doctor` says why.")
    return estate(
        cloud=lack, stacks={}, pools={}, limits=(), week=lack, statuses=lack, workflows=lack, works=(lack,), jobs=lack,
        money={}, board=lack, meanings={}, changes={}, images=lack,
    )  # fmt: skip
