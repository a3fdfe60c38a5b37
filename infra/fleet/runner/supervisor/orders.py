"""What a VM is told to do: its own orders, and where they say nothing, the records that all VMs read. Parsing alone.

Owns the names of the objects, which are those of `infra/model/bucket_names.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

NO_IMAGE: Final = "none"
"""Orders that say so mean it, whatever the pointer names by now: what it names may be proved by nobody."""

STARTUP: Final = "runner/startup.json"
POINTER: Final = "runner/current.json"

_IMAGE: Final = re.compile(r"[a-z0-9-]+-docker\.pkg\.dev/[^@]+@sha256:[0-9a-f]{64}")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")


def orders_object(vm: str) -> str:
    return f"runner/orders/{vm}.json"


def is_image(image: str) -> bool:
    """Whether that is a digest in Artifact Registry."""
    return _IMAGE.fullmatch(image) is not None


class UnreadableError(Exception):
    """Nobody can say what a record says; the text is the reason."""


@dataclass(frozen=True)
class Own:
    """A VM's own orders. Empty says nothing. restart: 0 for none."""

    image: str = ""
    bundle: str = ""
    restart: int = 0
    drain: bool = False
    broker: str = ""

    @property
    def text(self) -> str:
        """By which two are told apart."""
        return f"{self.image}|{self.bundle}|{self.restart}|{self.drain}"


@dataclass(frozen=True)
class Common:
    """What the records of all VMs say. serves: repositories of the pool. image: of pool and region, empty for none."""

    broker: str = ""
    serves: tuple[str, ...] = ()
    image: str = ""


def own(document: Any) -> Own:
    """Of a VM's orders; None for none. Raises UnreadableError."""
    if document is None:
        return Own()
    if not isinstance(document, Mapping):
        raise UnreadableError("the VM's orders cannot be read")
    said = {key: _text(document.get(key)) for key in ("image", "bundle", "restart", "drain", "broker")}
    return Own(
        image=said["image"],
        bundle=said["bundle"],
        restart=int(said["restart"]) if _NUMBER.fullmatch(said["restart"]) else 0,
        drain=said["drain"] == "true",
        broker=said["broker"],
    )


def common(startup: Any, pointer: Any, *, pool: str, region: str) -> Common:
    """Of the start-up record and the pointer, which is not there before the first promotion. Raises UnreadableError."""
    broker = (startup.get("broker") or "") if isinstance(startup, Mapping) else None
    if not isinstance(broker, str):
        raise UnreadableError("the start-up record of the fleet bucket cannot be read")
    served = startup.get("serves")
    serves = served.get(pool) if isinstance(served, Mapping) else None
    try:
        images = ({} if pointer is None else pointer).get("images") or {}
        image = (images.get(pool) or {}).get(region) or ""
    except AttributeError:
        image = None
    if not isinstance(image, str):
        raise UnreadableError("the pointer of the fleet bucket cannot be read")
    return Common(broker=broker, serves=tuple(map(str, serves)) if isinstance(serves, list) else (), image=image)


def _text(value: Any) -> str:
    """A value of orders that make sense or not: what is no text and no object is taken as JSON writes it."""
    if value is None or isinstance(value, Mapping):
        return ""
    return value if isinstance(value, str) else json.dumps(value)
