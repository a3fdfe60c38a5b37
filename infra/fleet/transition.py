"""The manifest while a stack changes: old and new VMs together in an `up`, none while it is destroyed.

The program's manifest says what shall be in the end. Published before the new VMs serve, it would end the old ones: the
broker registers no VM that is declared no more, and the controller deletes it. Unpublished, the new VMs would get no
registration either. All else of the stack file is in force at once, with what VMs are told to start with: a bundle or a
broker that is not made yet is in no record. Owns the manifest between the two; the one of the end is written by the
engine, whose state has this one never seen, so that an `up` which is killed here leaves a plan that writes it.

The program deletes the manifest after the VMs, which need it. While a stack is destroyed it declares none: else the
controller would make again what is being deleted. A manifest that stays is the state's again, so it is put back where
that ends before its end: an `up` that finds it unchanged writes nothing, and from one without VMs the controller would
delete them all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra.fleet.bundle import STUB
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Body, Record, Records, encode
from infra.model import bucket_names
from infra.model.manifest import emptied, in_transition, manifest
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
    name = bucket_names.manifest_object(config.stack)
    with clients(config.project, endpoint) as google:
        records = Records(google=google, bucket=config.bucket.name)
        found = _published(records, name)
        if found is None:
            return
        told = records.read(bucket_names.startup_object())
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
        if encode(body) != encode(found.body):
            _written(records, name, body, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """body: the manifest before. generation: the one that declares no VM."""

    body: Body
    generation: int


def withdraw(config: StackConfig, endpoint: str | None) -> Withdrawn | None:
    """Declare no VM; None where nothing was to be done: no bucket, no manifest, or one without VMs.

    endpoint: as above. Raises GoogleError where it fails.
    """
    name = bucket_names.manifest_object(config.stack)
    with clients(config.project, endpoint) as google:
        records = Records(google=google, bucket=config.bucket.name)
        found = _published(records, name)
        if found is None or not (found.body.get("slots") != [] or found.body.get("window_slots")):
            return None
        emptier = emptied(found.body, f"{config.stack} is being destroyed")
        return Withdrawn(body=found.body, generation=_written(records, name, emptier, found))


def declare_again(config: StackConfig, endpoint: str | None, withdrawn: Withdrawn) -> bool:
    """Put back what was withdrawn; False where the manifest is gone or another has written it since.

    Raises GoogleError where it fails.
    """
    with clients(config.project, endpoint) as google:
        records = Records(google=google, bucket=config.bucket.name)
        try:
            written = records.replace(
                bucket_names.manifest_object(config.stack), withdrawn.body, generation=withdrawn.generation
            )
        except GoogleError as error:
            if error.status == _MISSING:
                return False
            raise
    return written is not None


def _published(records: Records, name: str) -> Record | None:
    """None where there is no manifest, or no bucket."""
    try:
        return records.read(name)
    except GoogleError as error:
        if error.status == _MISSING:
            return None
        raise


def _written(records: Records, name: str, body: Body, over: Record) -> int:
    generation = records.replace(name, body, generation=over.generation)
    if generation is None:
        raise GoogleError(f"writing {name}", "another writer changed it meanwhile; run the command again")
    return generation


def _text(body: Mapping[str, Any], key: str) -> str:
    if not isinstance(body.get(key), str):
        raise TypeError(f"{key} is {body.get(key)!r}, and it must be a text")
    return body[key]
