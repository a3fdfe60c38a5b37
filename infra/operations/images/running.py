"""Which digest pools run: promotion, its way back, and every place that names one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from infra.fleet.images.promotion import Moved
from infra.fleet.images.registries import ArtifactPlace
from infra.fleet.images.where import Found, Search
from infra.model.images.record import DIGEST
from infra.operations.errors import Refusal
from infra.operations.images.lab import Work

_SHORT = re.compile(r"(sha256:)?[0-9a-f]{12,64}")


def promote(work: Work, image: str, digest: str | None, pools: Iterable[str]) -> tuple[Moved, ...]:
    """Make a digest of an image what these pools run; its current one where none is named.

    Cut off at any moment, running it again ends the work. Refusal where no build is recorded, Failure where a region
    lacks the digest.
    """
    wanted = digest or work.current(image).digest
    return work.promotion().promote(tuple(dict.fromkeys(pools)), image, wanted, datetime.now(UTC))


def undo(work: Work, pool: str) -> Moved:
    """Take a pool's last promotion back; one that was cut off is finished, and nothing else is done."""
    return work.promotion().undo(pool)


def where(work: Work, digest: str) -> Found:
    """Search record, pools, pointers, manifests, registries and VMs. digest: whole, or the start of a recorded one."""
    whole, lab = _whole(work, digest), work.lab
    return Search(
        store=work.store,
        registries=work.registries,
        google=work.google,
        fleets=lab.stacks,
        places={each.name: lab.places(each.name) for each in lab.spec.order()},
        tags={each.name: each.tags for each in lab.spec.images},
    ).find(whole)


def _whole(work: Work, digest: str) -> str:
    """The digest itself, or the recorded one that starts so."""
    if re.fullmatch(DIGEST, digest):
        return digest
    if _SHORT.fullmatch(digest):
        start = f"sha256:{digest.removeprefix('sha256:')}"
        images = work.store.read().images.values()
        known = {build.digest for image in images for build in image.builds() if build.digest.startswith(start)}
        if len(known) == 1:
            return known.pop()
        raise Refusal(
            f"{len(known)} recorded builds start with {digest}; give all of sha256: and 64 hexadecimal digits"
        )
    raise Refusal(f"{digest!r} is no digest: sha256: and 64 hexadecimal digits, or 12 of them for a recorded build")


def place_in_short(place: str) -> str:
    """`us-west4 marin-ci/tpu-ci`: what tells a place in Artifact Registry from the stack's others."""
    found = ArtifactPlace.parse(place)
    return f"{found.location} {found.repository}/{found.package}" if found else place
