"""Sweeps in a process that imports what the controller's does, and a JSON object that says what they cost."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httplib2
import urllib3

from infra.fleet import sweep_log  # noqa: F401 - as the controller's process does
from infra.fleet.controller import sweep as sweeping
from infra.fleet.controller.act import Actor
from infra.fleet.controller.github import RunnerApi
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.sweep import Sweeper, summary
from infra.fleet.google import clients
from infra.fleet.records import Records


@dataclass(slots=True)
class Meter:
    """asked: calls of the last sweep by what they are. seconds, processor, deciding: of each sweep."""

    asked: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    deciding: list[float] = field(default_factory=list)

    def wrapped(self, method: Any, url_at: int) -> Any:
        def request(*given: Any, **more: Any) -> Any:
            self.asked[_kind(str(given[url_at]))] += 1
            return method(*given, **more)

        return request

    def timed(self, decide: Any) -> Any:
        def timed(*given: Any) -> Any:
            began = time.process_time()
            decision = decide(*given)
            self.deciding.append(time.process_time() - began)
            return decision

        return timed


def _kind(url: str) -> str:
    path = url.partition("?")[0]
    if path.endswith("/actions/runners"):
        return "runners"
    return "nodes" if path.endswith("/nodes") else "others"


def measured(*, url: str, ahead: float, sweeps: int, project: str, bucket: str, stack: str, token: str) -> Any:
    """So many sweeps of a stack of the local cloud at `url`. ahead: seconds by which its clock is ahead."""
    meter, before, swept = Meter(), peak(), None
    github = RunnerApi(api=f"{url.rstrip('/')}/github/api/v3", token=lambda _: token)
    with (
        clients(project, url) as google,
        patch.object(sweeping, "decide", meter.timed(sweeping.decide)),
        patch.object(httplib2.Http, "request", meter.wrapped(httplib2.Http.request, 1)),
        patch.object(urllib3.PoolManager, "request", meter.wrapped(urllib3.PoolManager.request, 2)),
    ):
        records = Records(google=google, bucket=bucket)
        sweeper = Sweeper(
            stack=stack,
            records=records,
            observer=Observer(project=project, bucket=bucket, endpoint=url, github=github),
            actor=lambda desired: Actor(google=google, records=records, github=github, desired=desired),
            clock=lambda: datetime.now(UTC) + timedelta(seconds=ahead),
        )
        for _ in range(sweeps):
            meter.asked.clear()
            began, worked = time.perf_counter(), time.process_time()
            swept = sweeper.sweep()
            meter.seconds.append(time.perf_counter() - began)
            meter.processor.append(time.process_time() - worked)
    return {
        "settled": swept is not None and swept.settled,
        "summary": summary(swept) if swept else "",
        "asked": meter.asked,
        "seconds": meter.seconds,
        "processor": meter.processor,
        "deciding": meter.deciding,
        "before": before,
        "peak": peak(),
    }


def peak() -> int:
    """Largest resident megabytes so far. `getrusage` would count those of the process that started this one too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 // 1_000_000


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measured(**json.loads(sys.argv[1]))))
