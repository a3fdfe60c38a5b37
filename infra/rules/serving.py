"""The rule of what runs the broker and the controller: an image that a stack of the lab builds, records and keeps.

Owns whether the image's repository is declared. Does not own the image's form, project and region, which are mistakes
of a stack file (`infra.model.rules`). A stack file with mistakes is judged by what is right in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.model.partial import has
from infra.model.schema import StackConfig
from infra.rules.finding import Level
from infra.rules.rule import Broken, Edit, EditRule


def _undeclared(edit: Edit) -> Iterator[Broken]:
    controller = edit.after.controller if has(edit.after, "controller") else None
    if controller is None or not has(controller, "image") or controller.image is None:
        return
    place = "/".join(controller.image.split("/")[:3])
    declared = sorted(_repositories((edit.after, *edit.siblings)))
    if place not in declared:
        said = f"it is from {place}, which no stack declares: nobody records what runs there, or keeps it"
        host = f"{place.partition('/')[0]}/"
        near = [each for each in declared if each.startswith(host)] or declared
        fix = f"an image in {' or '.join(near)}" if near else "tidepool:registries, and the image in one of them"
        yield Broken("controller.image", said, fix)


def _repositories(stacks: Sequence[StackConfig]) -> Iterator[str]:
    """Every place of an image that these stacks make: `us-central1-docker.pkg.dev/my-lab/marin`."""
    for stack in stacks:
        registries = stack.registries if has(stack, "project", "registries") else None
        if registries is None or not has(registries, "regions", "repositories"):
            continue
        for region in registries.regions:
            for each in registries.repositories:
                if has(each, "name"):
                    yield f"{region}-docker.pkg.dev/{stack.project}/{each.name}"


RULES: Final = (
    EditRule(
        id="service-image-declared",
        level=Level.WARN,
        reason="What keeps the fleet is built, recorded and kept as its other images are.",
        fix="an image in a repository of tidepool:registries",
        check=_undeclared,
    ),
)
