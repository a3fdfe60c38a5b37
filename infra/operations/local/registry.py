"""The registry beside the local cloud, which stands for every registry that is not Artifact Registry."""

from __future__ import annotations

from infra.local.cloud.control import Control
from infra.local.registry import ended
from infra.operations.ports import Teller, Tone


def stand_in(url: str, teller: Teller) -> str:
    """Its address, empty where there is none.

    It ends with that cloud's process. The cloud is told, or it would take each question for an outage to be waited out.
    """
    control = Control(url)
    address = control.registry()["address"]
    if not address or not ended(address):
        return address
    control.forget_registry()
    said = "the registry beside the local cloud has ended, and what was pushed to it is gone; builds push anew"
    teller.say(said, Tone.WARNING)
    return ""
