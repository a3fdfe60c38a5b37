"""`python -m infra.fleet.runs run|delete`: what generated workflows run, as a job of GitHub's that has no checkout.

Told by the environment: REQUEST (`infra.model.runs.RunRequest` as JSON), RUN_ID and ATTEMPT; IMAGE and COMMIT where
the request leaves them open; RESULTS, the folder for what comes back. Puts out `ended`, success or failure where the
command decided it and nothing else, and `reason`. docs/runs.md has the reasons.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from infra.fleet.broker.settings import GOOGLE_ENDPOINT, is_safe
from infra.fleet.google import Clients, GoogleError, clients
from infra.fleet.records import Records
from infra.fleet.runs.cloud import BucketLedger, BucketObjects, GoogleTpuVms
from infra.fleet.runs.decide import Reason
from infra.fleet.runs.ports import RunPorts
from infra.fleet.runs.run import Run, RunEnd, delete_all
from infra.fleet.runs.signals import cancellable
from infra.model.errors import ConfigError
from infra.model.runs import RunRequest, read_request
from infra.model.visible import visible

POLL: Final = 5.0
CALL_SECONDS: Final = 15.0
_RESULT: Final = "result.json"
MOST_RESULT: Final = 4_000_000
"""Bytes of it that are read."""


def main(verb: str, told: Mapping[str, str], say: Callable[[str], None]) -> int:
    """The exit code: 0 where the command ended well, or nothing of the run is left."""
    try:
        request = requested(told)
    except ConfigError as error:
        say(f"::error::{error}")
        return 2
    endpoint = told.get(GOOGLE_ENDPOINT) or None
    if endpoint is not None and not is_safe(endpoint):
        say(f"::error::{GOOGLE_ENDPOINT} is {endpoint}, and only loopback may take the place of Google")
        return 2
    try:
        with clients(request.project, endpoint, hurried=True, seconds=CALL_SECONDS) as google:
            return _done(verb, request, told, say, google)
    except GoogleError as error:
        say(f"::error::{error}")
        return 1


def requested(told: Mapping[str, str]) -> RunRequest:
    """The request with what only the job knows; ConfigError where it is none."""
    request = read_request(told.get("REQUEST", ""))
    open_keys = {"image": told.get("IMAGE", ""), "commit": told.get("COMMIT", "")}
    return request.model_copy(update={key: value for key, value in open_keys.items() if value})


def _done(verb: str, request: RunRequest, told: Mapping[str, str], say: Callable[[str], None], google: Clients) -> int:
    def log(host: int, piece: bytes) -> None:
        """Behind a mark, so that no line of what ran is taken for a command of the runner's."""
        for line in piece.decode(errors="replace").replace("\r", "\n").splitlines():
            say(f"{host if request.hosts > 1 else ''}| {visible(line)}")

    poll = float(told.get("POLL_SECONDS", POLL))
    ports = RunPorts(
        vms=GoogleTpuVms(google),
        objects=BucketObjects(google, request.bucket),
        ledger=BucketLedger(Records(google=google, bucket=request.bucket), request.ceilings, request.stack),
        clock=time.time,
        sleep=time.sleep,
        tell=lambda line: say(visible(line)),
        log=log,
        poll=poll,
    )
    if verb == "delete":
        left = delete_all(request, told["RUN_ID"], ports, until=time.time() + request.times.delete)
        if left:
            say(f"::error::not deleted: {left}. The label tidepool-expires says when the controller does")
        return 1 if left else 0
    folder = Path(told.get("RESULTS", "results"))
    run = Run(request=request, run=told["RUN_ID"], attempt=int(told.get("ATTEMPT", "1")), ports=ports, into=folder)
    with cancellable():
        ended = run.whole()
    _tell(ended, say)
    if request.suite:
        _write_result(request, ended, folder, f"{told['RUN_ID']}-{told.get('ATTEMPT', '1')}")
    if output := told.get("GITHUB_OUTPUT"):
        with Path(output).open("a", encoding="utf-8") as file:
            if Reason(ended.reason).of_the_command:
                file.write(f"ended={'success' if ended.reason == Reason.DONE else 'failure'}\n")
            file.write(f"reason={ended.reason}\n")
    return 0 if ended.done else 1


def _tell(ended: RunEnd, say: Callable[[str], None]) -> None:
    mark = "" if ended.done else "::error::"
    say(f"{mark}{ended.reason}: {visible(ended.says)}")
    if ended.left:
        say(f"::error::not deleted: {ended.left}. The label tidepool-expires says when the controller does")
    say(json.dumps(ended.to_json()))


def _write_result(request: RunRequest, ended: RunEnd, folder: Path, run: str) -> None:
    """What the suite wrote, with what the VM does not decide; also where none came, once there was a VM."""
    said, path = {}, folder / "out" / _RESULT
    if path.is_file():
        try:
            found = json.loads(path.read_bytes()[:MOST_RESULT])
            said = found if isinstance(found, dict) else {}
        except (ValueError, RecursionError):
            said = {}
        path.unlink()
    if not ended.vm_seconds and not said:
        return
    known: dict[str, Any] = {
        "version": 1,
        "suite": request.suite,
        "commit": request.commit,
        "run": run,
        "at": int(time.time()),
        "ok": ended.reason == Reason.DONE,
        "vm_seconds": ended.vm_seconds,
    }
    whole = {"seconds": 0, "tests": {}, "coverage": None} | said | known
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{request.suite}.json").write_text(json.dumps(whole, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "run", os.environ, lambda line: print(line, flush=True)))  # noqa: T201 - a job's log
