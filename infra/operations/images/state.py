"""How images stand: what is declared of each, what the record says, and what its places answer today."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from infra.fleet.images.state import ImageState, PlaceState, image_state
from infra.model import names
from infra.model.images.cost import BuildCost, build_cost
from infra.model.images.sources import unconnected
from infra.model.images.spec import Image
from infra.model.images.steps import step_pins
from infra.operations.images.lab import Lab, Work

__all__ = ["ImageState", "PlaceState", "Standing", "record_of", "standing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
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


def standing(work: Work, images: Sequence[Image]) -> tuple[Standing, ...]:
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
            Standing(
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
    return {"bucket": lab.home.bucket.name, "object": names.images_record_object()}
