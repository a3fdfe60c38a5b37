"""Declaring no VM any more while a stack is destroyed, and declaring them again where that ends before its end.

The manifest is the program's, and the program deletes it after the VMs, which need it. Until then the controller would
make again what is being deleted. A manifest that stays is the state's again: an `up` that finds it unchanged writes
nothing, and from one without VMs the controller would delete them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Body, Records
from infra.model import names
from infra.model.manifest import emptied
from infra.model.schema import StackConfig

_MISSING: Final = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """body: the manifest before. generation: the one that declares no VM."""

    body: Body
    generation: int


def withdraw(config: StackConfig, endpoint: str | None) -> Withdrawn | None:
    """Declare no VM; None where nothing was to be done: no bucket, no manifest, or one without VMs.

    endpoint: the local cloud's root URL, None for Google. Raises GoogleError where it fails.
    """
    name = names.manifest_object(config.stack)
    with clients(config.project, endpoint) as google:
        records = Records(google=google, bucket=config.bucket.name)
        try:
            found = records.read(name)
        except GoogleError as error:
            if error.status == _MISSING:
                return None
            raise
        if found is None or found.body.get("slots") == []:
            return None
        generation = records.replace(
            name, emptied(found.body, f"{config.stack} is being destroyed"), generation=found.generation
        )
    if generation is None:
        raise GoogleError(f"emptying {name}", "another writer changed it meanwhile; run the command again")
    return Withdrawn(body=found.body, generation=generation)


def declare_again(config: StackConfig, endpoint: str | None, withdrawn: Withdrawn) -> bool:
    """Put back what was withdrawn; False where the manifest is gone or another has written it since.

    Raises GoogleError where it fails.
    """
    with clients(config.project, endpoint) as google:
        records = Records(google=google, bucket=config.bucket.name)
        try:
            written = records.replace(
                names.manifest_object(config.stack), withdrawn.body, generation=withdrawn.generation
            )
        except GoogleError as error:
            if error.status == _MISSING:
                return False
            raise
    return written is not None
