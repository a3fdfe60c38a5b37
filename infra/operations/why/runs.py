"""Where a run of `run-on` or of a workflow is, or how it ended, by its record; and what its VMs cost so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records
from infra.fleet.runs.cloud import GoogleTpuVms
from infra.fleet.runs.ports import RunError
from infra.model.bucket_names import RUN_DAYS_PREFIX
from infra.model.dollars import Dollars
from infra.model.json_shape import JsonShape
from infra.model.run_records import RunVmRecord, day_records
from infra.model.schema import StackConfig
from infra.model.usage import vm_cost
from infra.operations.fleet.looks import declared_place
from infra.operations.ports import CloudName, Teller
from infra.operations.session import open_cloud

DAYS: Final = 35
"""The latest days with runs whose records are read."""
_GONE: Final = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVmSeen:
    """One VM of a run. node: its state by the TPU API now, `gone` where it is not there, empty where that is unknown.

    usd: by list price for as long as it was billed until now.
    """

    record: RunVmRecord
    node: str
    seconds: int
    usd: Dollars

    def to_json(self) -> dict[str, Any]:
        usd = self.usd.exact
        return {
            **self.record.to_json(),
            "node": self.node,
            "vmSeconds": self.seconds,
            "usd": None if usd is None else round(float(usd), 4),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen(JsonShape):
    """One run, its VMs in the order in which they were asked for."""

    run: str
    stack: str
    at: datetime
    vms: tuple[RunVmSeen, ...]


def find_run(run: str, config: StackConfig, cloud: CloudName | None, teller: Teller) -> RunSeen | None:
    """The run of that number, of a stack that makes runs; None where no record of the latest days has it.

    Raises GoogleError where the bucket does not answer, ValueError where a record cannot be read.
    """
    if config.runs is None:
        return None
    endpoint = open_cloud(cloud, teller).endpoint
    now = declared_place(config, endpoint).clock()
    with clients(config.project, endpoint) as google:
        mine = _records(run, Records(google=google, bucket=config.bucket.name))
        vms = GoogleTpuVms(google)
        seen = tuple(_seen(each, vms, int(now.timestamp())) for each in mine)
    return RunSeen(run=run, stack=config.stack, at=now, vms=seen) if seen else None


def _records(run: str, records: Records) -> list[RunVmRecord]:
    """Of the day on which it was asked for, and of the next, on which a later attempt may be."""
    found: list[RunVmRecord] = []
    for name in islice(_days(records), DAYS):
        mine = [each for each in day_records(records.body(name)) if each.run == run]
        if found and not mine:
            break
        found = [*mine, *found]
    return sorted(found, key=lambda each: (each.asked, each.vm))


def _days(records: Records) -> Iterator[str]:
    """Records of days, the latest first; a bucket that is not there has none."""
    try:
        yield from sorted(records.below(RUN_DAYS_PREFIX), reverse=True)
    except GoogleError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


def _seen(record: RunVmRecord, vms: GoogleTpuVms, now: int) -> RunVmSeen:
    seconds = record.vm_seconds(now)
    return RunVmSeen(
        record=record,
        node=_node(record, vms),
        seconds=seconds,
        usd=vm_cost(record.accelerator, record.zone, record.capacity, Decimal(seconds)),
    )


def _node(record: RunVmRecord, vms: GoogleTpuVms) -> str:
    if record.end is not None:
        return _GONE
    try:
        found = vms.node(record.zone, record.vm)
    except RunError:
        return ""
    return _GONE if found is None else str(found.get("state", ""))
