"""The rule of what runs the broker and the controller: an image that a stack of the lab builds, records and keeps.

Owns whether the image's repository is declared. Does not own the image's form, project and region, which are mistakes
of a stack file (`infra.model.rules`). A stack file with mistakes is judged by what is right in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra.model.offers import image_places
from infra.rules.finding import Level
from infra.rules.rule import Broken, Edit, EditRule


def _undeclared(edit: Edit) -> Iterator[Broken]:
    controller = edit.after.controller
    if controller is None or controller.image is None:
        return
    place = "/".join(controller.image.split("/")[:3])
    declared = sorted(image_places((edit.after, *edit.siblings)))
    if place not in declared:
        said = f"it is from {place}, which no stack declares: nobody records what runs there, or keeps it"
        host = f"{place.partition('/')[0]}/"
        near = [each for each in declared if each.startswith(host)] or declared
        fix = f"an image in {' or '.join(near)}" if near else "tidepool:registries, and the image in one of them"
        yield Broken("controller.image", said, fix)


RULES: Final = (
    EditRule(
        id="service-image-declared",
        level=Level.WARN,
        reason="What keeps the fleet is built, recorded and kept as its other images are.",
        fix="an image in a repository of tidepool:registries",
        check=_undeclared,
    ),
)
