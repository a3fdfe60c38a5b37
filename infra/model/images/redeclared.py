"""Which images are to be built after an apply: those whose triggers have other steps than were last asked to be built.

Owns that comparison. A push that changed the steps was refused by the trigger as it stood (`given.steps_digest`), and
nothing else would build it before the image's next time. A pin is no reason: builds take it from their recipes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from infra.model import names
from infra.model.images.spec import Builder, ImageSpec
from infra.model.plan import Op, Plan, Status, Step

TRIGGER: Final = "gcp:cloudbuild/trigger:Trigger"
_DIGEST: Final = "STEPS="

Digests = Mapping[str, str]
"""Of the steps of builds, by image; empty where the trigger is off."""


def told(spec: ImageSpec, run: Plan) -> Digests:
    """What the triggers have since this run. One that the run left out, or failed to change, is not in it."""
    return {
        image: _digest(step.new_inputs)
        for image, step in _triggers(spec, run)
        if step.status is Status.DONE and step.new_inputs is not None
    }


def is_first(run: Plan) -> bool:
    """Whether the stack had no triggers before this run."""
    return all(step.op is Op.CREATE for step in run.steps if step.type == TRIGGER)


def before(spec: ImageSpec, run: Plan) -> Digests:
    """What counts as asked for where nothing was written of it: what the triggers had before this run.

    In a first apply, what they have now: that one starts nothing by itself.
    """
    if is_first(run):
        return told(spec, run)
    return {image: _digest(step.old_inputs) for image, step in _triggers(spec, run) if step.old_inputs is not None}


def owed(spec: ImageSpec, now: Digests, asked: Digests) -> tuple[str, ...]:
    """Images to build, in build order; one that is built with an image of the list is left out."""
    found = [each.name for each in spec.order() if now.get(each.name) and now[each.name] != asked.get(each.name)]
    return tuple(each for each in found if not {image.name for image in spec.ancestors(each)} & set(found))


def _triggers(spec: ImageSpec, run: Plan) -> Iterator[tuple[str, Step]]:
    steps = {step.name: step for step in run.steps if step.type == TRIGGER}
    for image in spec.order():
        step = steps.get(names.build_trigger(run.stack, image.name, "message"))
        if step is not None and image.builder is Builder.CLOUDBUILD:
            yield image.name, step


def _digest(inputs: Mapping[str, Any]) -> str:
    if inputs.get("disabled"):
        return ""
    envs = inputs.get("build", {}).get("options", {}).get("envs", ())
    return next((each.removeprefix(_DIGEST) for each in envs if each.startswith(_DIGEST)), "")
