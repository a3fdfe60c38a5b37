"""Which steps builds were last asked for, so that a build which could not be started is started by the next `up`.

Owns the object `control/STACK/builds.json` of a stack's own fleet bucket. No builder may write there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from infra.fleet.images.store import Objects
from infra.model import names
from infra.model.images.record import BuildDocument, parse_as

VERSION: Final = 1


class AskedSteps(BuildDocument):
    """steps: digests by image; empty where its trigger was off."""

    version: Literal[1] = VERSION
    steps: Mapping[str, str]


def read_asked(bucket: Objects, stack: str) -> Mapping[str, str] | None:
    """The digests; None where none were written yet. Raises GoogleError, and ConfigError where it cannot be read."""
    name = names.builds_object(stack)
    found = bucket.read(name)
    fix = f"delete {name} from the fleet bucket, and start builds that are missing by hand"
    return None if found is None else parse_as(AskedSteps, name, found.body, fix).steps


def write_asked(bucket: Objects, stack: str, steps: Mapping[str, str]) -> None:
    """Write the digests down. Raises GoogleError."""
    bucket.update(names.builds_object(stack), lambda _: AskedSteps(steps=steps).model_dump(mode="json"))
