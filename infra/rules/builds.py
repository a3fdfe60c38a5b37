"""Rules of image builds: that a trigger builds from what is pinned, and that one which is off is seen.

Owns what of a Cloud Build trigger is judged. Which account it runs as is judged with all that runs (machines).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from infra.model.images import RESOLVE, TRIGGER
from infra.rules.finding import Level
from infra.rules.rule import Broken, ResourceContext, ResourceRule
from infra.rules.view import ResourceView, is_known

_DIGEST: Final = re.compile(r".+@sha256:[0-9a-f]{64}")


def _on(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    if view.type == TRIGGER and view.get("disabled") is True:
        said = view.text("description")
        yield Broken(view.subject, f"it starts nothing: {said}" if said else "it starts nothing")


def _pinned(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    """A trigger that is off runs nothing, and says for itself what is not pinned."""
    if view.type != TRIGGER or view.get("disabled") is True:
        return
    for index, step in enumerate(view.items("build", "steps")):
        image = _image(step)
        if image is not None and not _DIGEST.fullmatch(image):
            yield Broken(
                view.subject, f"build.steps[{index}] runs in {image}, a tag, which may be another one tomorrow"
            )


def _image(step: Any) -> str | None:
    name = step.get("name") if isinstance(step, dict) else None
    return name if isinstance(name, str) and is_known(name) else None


RULES: Final = (
    ResourceRule(
        id="trigger-on",
        level=Level.WARN,
        reason="A trigger that is off lets its image grow old, and nobody hears of it.",
        fix=f"{RESOLVE} on a machine with internet where pins are unresolved, the connection of a private repository "
        "where that is missing, then up; else disabled: false",
        check=_on,
    ),
    ResourceRule(
        id="build-by-digest",
        level=Level.STOP,
        reason="What a step runs in can read the sources and write every registry of the stack.",
        fix="the reference by digest, from images/bases.yaml",
        check=_pinned,
    ),
)
