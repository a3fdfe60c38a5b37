"""The local cloud of a home as a process: found, or started where it is not running; ended; and its clock."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from bench.cloud import daemon
from bench.cloud.control import CloudClock, Control
from bench.cloud.daemon import Handle
from infra.model.clock import Clock, machine_clock  # noqa: TID251 - a stopped cloud keeps how far it is ahead
from infra.model.names import PULUMI_PROJECT
from infra.operations.ports import CloudName, Tone
from infra.operations.workspace import Workspace, workspace

_OTHER_CODE: Final = (
    "the local cloud (process {pid}) was started by another version of Tidepool: ./tidepool cloud stop ends it, and "
    "the next command starts it anew with all that it holds"
)


def local_cloud(place: Workspace, say: Callable[[str, Tone], None]) -> str:
    """Root URL of the local cloud of this home, started where it is not running."""
    place.make_home()
    if found := daemon.running(place.home):
        if not found.current:
            say(_OTHER_CODE.format(pid=found.pid), Tone.WARNING)
        return found.url
    started = daemon.ensure_running(place.home)
    say(f"started the local cloud at {started.url} (pid {started.pid})", Tone.QUIET)
    return started.url


def cloud_clock(url: str) -> Clock:
    """The time of the local cloud at this root, which may be ahead of the wall's."""
    return CloudClock(Control(url))


def home_clock() -> Clock:
    """The same for the cloud of this home, which need not run: it is as far ahead as when it was stopped."""
    home = workspace().home
    if found := daemon.running(home):
        return cloud_clock(found.url)
    ahead = timedelta(seconds=daemon.seconds_ahead(home))
    return lambda: machine_clock() + ahead


def start() -> Handle:
    """Start it in the background; one that runs already is left as it is."""
    place = workspace()
    place.make_home()
    return daemon.ensure_running(place.home)


def stop() -> bool:
    """End it; whether it ran."""
    return daemon.stop(workspace().home)


def reset() -> bool:
    """End it, and forget all that it holds with the stacks' states of it; whether there was anything."""
    home = workspace().home
    daemon.stop(home)
    held = [each for each in (home / "cloud", home / "state" / CloudName.LOCAL.value) if each.exists()]
    for each in held:
        shutil.rmtree(each)
    return bool(held)


def states_elsewhere(environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """States in a file backend of PULUMI_BACKEND_URL, which `reset` leaves: they may be of another cloud too."""
    url = environ.get("PULUMI_BACKEND_URL", "")
    if not url.startswith("file://"):
        return ()
    # Here, for a reset alone asks this, and it takes long to import.
    from bench.engine.backend import Backend

    states = Backend.from_url(url).files(PULUMI_PROJECT, "any").checkpoint.parent
    return tuple(sorted(states.glob("*.json")))


def status() -> dict[str, Any]:
    """Whether it runs, where, and what it holds."""
    return daemon.status(workspace().home)


def status_lines(found: Mapping[str, Any]) -> list[str]:
    if not found["running"]:
        return ["the local cloud does not run; start it with `./tidepool cloud start`"]
    nodes, builds = (
        ", ".join(f"{count} {state}" for state, count in found[kind].items()) or "none" for kind in ("nodes", "builds")
    )
    return [
        f"url       {found['url']}",
        f"pid       {found['pid']}",
        f"time      {found['time']}",
        f"TPU VMs   {nodes}",
        f"builds    {builds}",
        f"faults    {found['faults']}",
        f"limits    {found['limits']}",
        f"requests  {found['requests']} in {found['uptimeSeconds']:.0f} s",
    ]
