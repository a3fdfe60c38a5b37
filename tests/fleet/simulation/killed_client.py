"""A client of one run as a process of its own, to be killed: `python -m tests.fleet.simulation.killed_client URL RUN`.

The request comes as the first line of its input. Each wait is a line of its output, and is over with a line of its
input: whoever started it moves the cloud's clock meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime

from bench.cloud.control import CloudClock, Control
from infra.fleet.broker.identity import google_keys
from infra.fleet.google import Clients, clients
from infra.fleet.records import Records
from infra.fleet.runs.cloud import BucketLedger, BucketObjects, GoogleTpuVms
from infra.fleet.runs.ports import RunPorts
from infra.fleet.runs.run import Run
from infra.model.runs import RunRequest, read_request


def ports(request: RunRequest, google: Clients, clock: Callable[[], float], sleep: Callable[[float], None]) -> RunPorts:
    """Of a client that tells nobody anything."""
    return RunPorts(
        vms=GoogleTpuVms(google),
        objects=BucketObjects(google, request.bucket),
        ledger=BucketLedger(Records(google=google, bucket=request.bucket), request.stack),
        keys=google_keys(google.endpoint, lambda: datetime.fromtimestamp(clock(), UTC)),
        clock=clock,
        sleep=sleep,
        tell=lambda _: None,
        log=lambda _host, _piece: None,
    )


def main(url: str, run: str) -> None:
    request, clock = read_request(sys.stdin.readline()), CloudClock(Control(url))

    def sleep(seconds: float) -> None:
        print(seconds, flush=True)  # noqa: T201 - who started it reads
        sys.stdin.readline()

    with clients(request.project, url) as google:
        Run(
            request=request, run=run, attempt=1, ports=ports(request, google, lambda: clock().timestamp(), sleep)
        ).whole()


if __name__ == "__main__":
    main(*sys.argv[1:])
