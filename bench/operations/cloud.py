"""The local cloud of a home: found, or started where it is not running; its end, its clock and its registry."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from bench.cloud import daemon
from bench.cloud.control import CloudClock, Control
from infra.model.clock import Clock, machine_clock  # noqa: TID251 - a stopped cloud keeps how far it is ahead
from infra.operations.ports import CloudName, Tone
from infra.operations.workspace import Workspace, workspace

if TYPE_CHECKING:
    from infra.fleet.images.oci import Reader

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


def reset() -> bool:
    """End it, and forget all that it holds with the stacks' states of it; whether there was anything."""
    home = workspace().home
    daemon.stop(home)
    held = [each for each in (home / "cloud", home / "state" / CloudName.LOCAL.value) if each.exists()]
    for each in held:
        shutil.rmtree(each)
    return bool(held)


def stand_in(url: str, say: Callable[[str, Tone], None]) -> Reader:
    """The registry that stands for all others beside the local cloud; one without answers where none runs.

    It ends with that cloud's process. The cloud is told, or it would take each question for an outage to be waited out.
    """
    # With a client of registries, which a start of the cloud does without.
    from bench.registry import answers
    from infra.fleet.images.oci import NoRegistry, OciRegistry

    control = Control(url)
    address = control.registry()["address"]
    if address and not answers(address):
        control.forget_registry()
        said = "the registry of the local cloud stopped and lost its images, which builds push again"
        say(said, Tone.WARNING)
        address = None
    return OciRegistry(stand_in=f"http://{address}") if address else NoRegistry()
