"""The local cloud of a home: found, or started where it is not running."""

from __future__ import annotations

from typing import Final

from infra.local.cloud import daemon
from infra.operations.errors import Failure
from infra.operations.ports import Teller, Tone
from infra.operations.workspace import Workspace

_OTHER_CODE: Final = (
    "the local cloud (process {pid}) was started by another version of Tidepool: ./tidepool cloud stop ends it, and "
    "the next command starts it anew with all that it holds"
)


def local_cloud(place: Workspace, teller: Teller) -> str:
    """Root URL of the local cloud of this home, started where it is not running."""
    place.make_home()
    try:
        if found := daemon.running(place.home):
            if not found.current:
                teller.say(_OTHER_CODE.format(pid=found.pid), Tone.WARNING)
            return found.url
        started = daemon.ensure_running(place.home)
    except daemon.DaemonError as error:
        raise Failure(str(error)) from None
    teller.say(f"started the local cloud at {started.url} (pid {started.pid})", Tone.QUIET)
    return started.url
