"""The registry beside the local cloud, which stands for every other."""

from __future__ import annotations

from collections.abc import Callable

from bench.cloud.control import Control
from bench.registry import ended
from infra.fleet.images.oci import NoRegistry, OciRegistry, Reader
from infra.operations.ports import Tone


def stand_in(url: str, say: Callable[[str, Tone], None]) -> Reader:
    """The registry that stands for all others beside the local cloud; one without answers where none runs.

    It ends with that cloud's process. The cloud is told, or it would take each question for an outage to be waited out.
    """
    control = Control(url)
    address = control.registry()["address"]
    if address and ended(address):
        control.forget_registry()
        said = "the registry beside the local cloud has ended, and what was pushed to it is gone; builds push anew"
        say(said, Tone.WARNING)
        return NoRegistry()
    return OciRegistry(stand_in=f"http://{address}") if address else NoRegistry()
