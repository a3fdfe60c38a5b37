"""How images stand: what is declared, recorded and in each place, and which digest pools run, with its way back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from infra.fleet.images.promotion import Moved
from infra.fleet.images.registries import ArtifactPlace
from infra.fleet.images.where import Found, ImageState, PlaceState, Search, image_state
from infra.model import bucket_names
from infra.model.images.cost import BuildCost, build_cost
from infra.model.images.record_documents import DIGEST
from infra.model.images.spec import Image
from infra.model.images.stack_rules import CONNECT, unconnected
from infra.model.images.steps import step_pins
from infra.operations.declared.images import Lab
from infra.operations.errors import Refusal
from infra.operations.images.lab import Work

__all__ = ["ImageState", "PlaceState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageStanding:
    """One image. depth: how many images it is built from, one on another. cost: None where nobody knows it.

    unresolved: pins without which it cannot be built, those of the build's own tools included. unconnected:
    repositories whose pushes start no build of it as long as they are not connected to Cloud Build.
    """

    image: Image
    state: ImageState
    depth: int
    cost: BuildCost | None
    unresolved: tuple[str, ...]
    unconnected: tuple[str, ...]

    @property
    def problems(self) -> list[str]:
        return [each.problem for each in self.state.places if each.problem]

    def to_json(self, now: datetime) -> dict[str, Any]:
        image, state = self.image, self.state
        declaration = {"builder", "context", "parents", "platforms", "tags", "when"}
        return {
            "name": image.name,
            **image.model_dump(mode="json", include=declaration),
            "current": state.current and state.current.model_dump(mode="json"),
            "age_seconds": state.current and int((now - state.current.built).total_seconds()),
            "equal": state.equal,
            "places": [
                {
                    "place": each.place,
                    "location": each.location,
                    "tag": each.tag,
                    "named": each.named,
                    "has_current": each.current,
                    "problem": each.problem,
                }
                for each in state.places
            ],
            "pools": {
                pool: target and target.model_dump(mode="json", include={"image", "digest", "since"})
                for pool, target in state.pools.items()
            },
            "history": [build.model_dump(mode="json") for build in state.history],
            "cost": self.cost.to_json() if self.cost else None,
            "unresolved": list(self.unresolved),
            "unconnected": list(self.unconnected),
        }


def standing(work: Work, images: Sequence[Image]) -> tuple[ImageStanding, ...]:
    """Ask the record and every place of these images; a place that does not answer is a problem of its image."""
    lab, record = work.lab, work.store.read()
    found = []
    for each in images:
        state = image_state(
            work.registries,
            record,
            each.name,
            places=lab.places(each.name),
            tag=next((tag for tag in each.tags if "{" not in tag), None),
            pools=lab.pools_of(each),
        )
        registry = each.push.artifact_registry
        builds = lab.stacks[registry.stack].builds if registry else None
        found.append(
            ImageStanding(
                image=each,
                state=state,
                depth=len(lab.spec.ancestors(each.name)),
                cost=build_cost(each, state.current, builds.machine_type) if builds else None,
                unresolved=lab.pins.unresolved(step_pins((each,))),
                unconnected=unconnected(lab.spec, each, builds) if builds else (),
            )
        )
    return tuple(found)


def record_of(lab: Lab) -> dict[str, str]:
    """Where the record of images is."""
    return {"bucket": lab.home.bucket.name, "object": bucket_names.images_record_object()}


_SHORT = re.compile(r"(sha256:)?[0-9a-f]{12,64}")


def promote(work: Work, image: str, digest: str | None, pools: Iterable[str]) -> tuple[Moved, ...]:
    """Make a digest of an image what these pools run; its current one where none is named.

    Cut off at any moment, running it again ends the work. Refusal where no build is recorded, Failure where a region
    lacks the digest.
    """
    wanted = digest or work.current(image).digest
    return work.promotion().promote(tuple(dict.fromkeys(pools)), image, wanted, work.now)


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
    raise Refusal(f"{digest!r} is not a digest: sha256: and 64 hexadecimal digits, or 12 of them for a recorded build")


def place_in_short(place: str) -> str:
    """`us-west4 marin-ci/tpu-ci`: what tells a place in Artifact Registry from the stack's others."""
    found = ArtifactPlace.parse(place)
    return f"{found.location} {found.repository}/{found.package}" if found else place


def warnings(lab: Lab, found: Sequence[ImageStanding], today: date) -> Iterator[str]:
    """What keeps images from being built as they are declared."""
    for each in found:
        if each.unresolved:
            yield f"{each.image.name} cannot be built: {', '.join(each.unresolved)} unresolved"
    if unheard := {repository for each in found for repository in each.unconnected}:
        said = f"no push to {' or '.join(sorted(unheard))} starts a build of Cloud Build, which is not connected"
        yield f"{said}: {CONNECT}"
    for over in (each for each in lab.spec.exceptions if each.expires < today):
        yield f"the exception for {over.finding} ended on {over.expires}, and the scan refuses it again: remove it"
