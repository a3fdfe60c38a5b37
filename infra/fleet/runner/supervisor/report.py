"""The VM's report as text, with its proof; `infra/fleet/proofs.py` parts the two again."""

from __future__ import annotations

import hashlib
import json
import re
import time
from typing import Final

from .effects import Host
from .state import State

_OTHERS: Final = re.compile(r"[^ -~]")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_.-]+")
_LONGEST: Final = 500


def moment(seconds: float) -> str:
    """A time as all records of a VM have it: `2026-11-21T08:00:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def plain(text: str) -> str:
    """What a job prints may come through here, so only plain characters do."""
    return _OTHERS.sub("?", text[:_LONGEST])


def line(event: object) -> str:
    """JSON on one line, as small as can be."""
    return json.dumps(event, separators=(",", ":"))


def report_object(host: Host) -> str:
    """A host of a slice that registers no runner has a report beside the VM's; a full stop is in no VM's name."""
    return f"reports/{host.pool}/{host.vm}{f'.worker-{host.worker}' if host.worker else ''}.json"


def text(state: State, host: Host, now: float) -> str:
    """The report without its proof."""
    who = {key: plain(getattr(host, key)) for key in ("stack", "pool", "vm", "machine")}
    told = {key: plain(getattr(state, key)) or None for key in ("phase", "reason", "image", "bundle", "runner", "job")}
    body = {"version": 1, "at": moment(now), **who, "worker": host.worker, "obeyed": state.obeyed or 0, **told}
    return line({**body, "boot": state.boot, "events": state.events})


def audience(report: str) -> str:
    """Of the token that Google signs for this machine and this text: other VMs run as the same account and may write
    here too.
    """
    return f"tidepool-report:{hashlib.sha256(report.encode()).hexdigest()}"


def sealed(report: str, token: str) -> str:
    """With its proof as the last key; without one where the token is none."""
    return f'{report[:-1]},"proof":"{token}"}}' if _TOKEN.fullmatch(token) else report
