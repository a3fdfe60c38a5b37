"""Declaring old and new VMs together while an `up` makes what is new and what goes serves on.

The program's manifest says what shall be in the end. Published before the new VMs serve, it would end the old ones: the
broker registers no VM that is declared no more, and the controller deletes it. Unpublished, the new VMs would get no
registration either. All else of the stack file is in force at once, with what VMs are told to start with: a bundle or a
broker that is not made yet is in no record. Owns the manifest between the two; the one of the end is written by the
engine, whose state has this one never seen, so that an `up` which is killed here leaves a plan that writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from infra.fleet.bundle import STUB
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records, encode
from infra.model import names
from infra.model.manifest import in_transition, manifest
from infra.model.schema import StackConfig

_MISSING: Final = 404
_DIGEST: Final = "sha256:"


def declare_both(
    config: StackConfig,
    endpoint: str | None,
    staying: Collection[str],
    *,
    registry: StackConfig | None = None,
    siblings: Sequence[StackConfig] = (),
) -> None:
    """Declare what the stack file does, and the VMs that stay as the published manifest has them.

    endpoint: the local cloud's root URL, None for Google. registry, siblings: as for `infra.model.manifest.manifest`.
    Where there is no bucket or no manifest nobody was declared. Raises GoogleError where it cannot be written, or
    declares what nobody can read.
    """
    name = names.manifest_object(config.stack)
    with clients(config.project, endpoint) as google:
        records = Records(google=google, bucket=config.bucket.name)
        try:
            found = records.read(name)
            told = records.read(names.startup_object())
        except GoogleError as error:
            if error.status == _MISSING:
                return
            raise
        if found is None:
            return
        try:
            wanted = manifest(
                config,
                bundle=_text(told.body, "bundle") if told else _text(found.body, "bundle").removeprefix(_DIGEST),
                startup_script=STUB.read_text(encoding="utf-8"),
                registry=registry,
                siblings=siblings,
                broker=(told or found).body.get("broker"),
            )
            body = in_transition(found.body, wanted, staying)
        except (KeyError, TypeError) as error:
            raise GoogleError(f"reading {name}", f"it cannot be read: {error}") from None
        except ValueError as error:
            raise GoogleError(f"reading {name}", str(error)) from None
        if encode(body) == encode(found.body):
            return
        if records.replace(name, body, generation=found.generation) is None:
            raise GoogleError(f"writing {name}", "another writer changed it meanwhile; run the command again")


def _text(body: Mapping[str, Any], key: str) -> str:
    if not isinstance(body.get(key), str):
        raise TypeError(f"{key} is {body.get(key)!r}, and it must be a text")
    return body[key]
