"""`python -m infra.fleet.runs run|delete`: what generated workflows run, as a job of GitHub's that has no checkout.

Told by the environment: RUN_ID; to delete PROJECT, BUCKET, ZONES and DELETE_SECONDS; of a run REQUEST
(`infra.model.runs.RunRequest` as JSON) and ATTEMPT, IMAGE and COMMIT where the request leaves them open, RESULTS, the
folder for what comes back. Puts out `ended`, success or failure where the command decided it and nothing else,
`reason`, and `result`, the file of a suite. docs/runs.md has the reasons.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from infra.fleet.broker.identity import google_keys
from infra.fleet.broker.settings import GOOGLE_ENDPOINT, is_safe
from infra.fleet.google import Clients, GoogleError, clients
from infra.fleet.records import Records
from infra.fleet.runs.cloud import BucketLedger, BucketObjects, GoogleTpuVms
from infra.fleet.runs.decide import Reason, RunEnd
from infra.fleet.runs.delete import clean_up
from infra.fleet.runs.ports import RunPorts
from infra.fleet.runs.run import Run
from infra.fleet.runs.signals import cancellable
from infra.model.clock import machine_clock  # noqa: TID251 - the job of a workflow counts a run on Google Cloud
from infra.model.errors import ConfigError
from infra.model.runs import RunRequest, read_request
from infra.model.visible import visible

POLL: Final = 5.0
CALL_SECONDS: Final = 15.0
_RESULT: Final = "result.json"
_MOST_SAID: Final = 300
MOST_RESULT: Final = 4_000_000
"""Bytes of it that are read."""


def main(verb: str, told: Mapping[str, str], say: Callable[[str], None]) -> int:
    """The exit code: 0 where the command ended well, or nothing of the run is left."""
    endpoint = told.get(GOOGLE_ENDPOINT) or None
    if endpoint is not None and not is_safe(endpoint):
        say(f"::error::{GOOGLE_ENDPOINT} is {endpoint}, and only loopback may take the place of Google")
        return 2
    try:
        request = None if verb == "delete" else requested(told)
        project = request.project if request else told["PROJECT"]
        with clients(project, endpoint, hurried=True, seconds=CALL_SECONDS) as google:
            return _deleted(told, say, google) if request is None else _done(request, told, say, google)
    except ConfigError as error:
        say(f"::error::{error}")
        return 2
    except GoogleError as error:
        say(f"::error::{error}")
        return 1


def requested(told: Mapping[str, str]) -> RunRequest:
    """The request with what only the job knows; ConfigError where it is none."""
    request = read_request(told.get("REQUEST", ""))
    open_keys = {"image": told.get("IMAGE", ""), "commit": told.get("COMMIT", "")}
    return request.model_copy(update={key: value for key, value in open_keys.items() if value})


def _ports(
    request: RunRequest | None, told: Mapping[str, str], say: Callable[[str], None], google: Clients
) -> RunPorts:
    """request: None where only VMs are deleted, of a run that nobody counts anew."""
    hosts, bucket, stack = 1, told.get("BUCKET", ""), "STACK"
    if request is not None:
        hosts, bucket, stack = request.hosts, request.bucket, request.stack

    def log(host: int, piece: bytes) -> None:
        """Behind a mark, so that no line of what ran is taken for a command of the runner's."""
        for line in piece.decode(errors="replace").replace("\r", "\n").splitlines():
            say(f"{host if hosts > 1 else ''}| {visible(line)}")

    return RunPorts(
        vms=GoogleTpuVms(google),
        objects=BucketObjects(google, bucket),
        ledger=BucketLedger(Records(google=google, bucket=bucket), stack),
        keys=google_keys(google.endpoint, machine_clock),
        clock=_clock,
        sleep=time.sleep,
        tell=lambda line: say(visible(line)),
        log=log,
        poll=float(told.get("POLL_SECONDS", POLL)),
    )


def _clock() -> float:
    return machine_clock().timestamp()


def _deleted(told: Mapping[str, str], say: Callable[[str], None], google: Clients) -> int:
    """ZONES (with spaces between) and DELETE_SECONDS say where and for how long, BUCKET where the run is counted."""
    ports = _ports(None, told, say, google)
    until = ports.clock() + float(told["DELETE_SECONDS"])
    left = clean_up(told["ZONES"].split(), told["RUN_ID"], ports, until=until)
    if left:
        say(f"::error::not deleted: {left}. The label tidepool-expires says when the controller does")
    return 1 if left else 0


def _done(request: RunRequest, told: Mapping[str, str], say: Callable[[str], None], google: Clients) -> int:
    ports, attempt = _ports(request, told, say, google), int(told.get("ATTEMPT", "1"))
    folder = Path(told.get("RESULTS", "results"))
    with TemporaryDirectory() as apart:
        # Of a suite one file alone leaves the job: others read every result below the folder.
        into = Path(apart) if request.suite else folder
        run = Run(request=request, run=told["RUN_ID"], attempt=attempt, ports=ports, into=into)
        with cancellable():
            ended = run.whole()
        _tell(ended, say)
        run_name = f"{told['RUN_ID']}-{attempt}"
        result = _write_result(request, ended, into, folder, run_name) if request.suite else ""
    if output := told.get("GITHUB_OUTPUT"):
        with Path(output).open("a", encoding="utf-8") as file:
            if Reason(ended.reason).of_the_command:
                file.write(f"ended={'success' if ended.reason == Reason.DONE else 'failure'}\n")
            file.write(f"reason={ended.reason}\nresult={result}\n")
    return 0 if ended.done else 1


def _tell(ended: RunEnd, say: Callable[[str], None]) -> None:
    mark = "" if ended.done else "::error::"
    say(f"{mark}{ended.reason}: {visible(ended.says)}")
    if ended.left:
        say(f"::error::not deleted: {ended.left}. The label tidepool-expires says when the controller does")
    say(json.dumps(ended.to_json()))


def _write_result(request: RunRequest, ended: RunEnd, back: Path, folder: Path, run: str) -> str:
    """The file with what the suite wrote and what the VM does not decide; why there is none, where the command decided
    nothing, so that nobody takes it for tests that failed.

    back: where what the suite left came to.
    """
    decided = Reason(ended.reason).of_the_command
    said, path = {}, back / "out" / _RESULT
    if decided and path.is_file():
        try:
            found = json.loads(path.read_bytes()[:MOST_RESULT])
            said = found if isinstance(found, dict) else {}
        except (ValueError, RecursionError):
            said = {}
    known: dict[str, Any] = {
        "version": 1,
        "suite": request.suite,
        "commit": request.commit,
        "run": run,
        "at": int(_clock()),
        "ok": ended.reason == Reason.DONE,
        "vm_seconds": ended.vm_seconds,
        "vm": {"accelerator": ended.accelerator, "zone": ended.zone, "capacity": ended.capacity},
        "missing": "" if decided else f"{ended.reason}: {visible(ended.says)}"[:_MOST_SAID],
    }
    whole = {"seconds": 0, "tests": {}, "coverage": None} | said | known
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{request.suite}.json"
    path.write_text(json.dumps(whole, separators=(",", ":")), encoding="utf-8")
    return str(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "run", os.environ, lambda line: print(line, flush=True)))  # noqa: T201 - a job's log
