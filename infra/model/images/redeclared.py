"""Which images are to be built after an apply: those whose triggers were told of other steps, or turned on.

Owns that reading of a plan. A push that changed the steps was refused by the trigger as it stood
(`given.steps_digest`), and nothing else would build it before the image's next time. A pin is no reason: builds take it
from their recipes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from infra.model import names
from infra.model.images.spec import Builder, ImageSpec
from infra.model.plan import Op, Plan, Status, Step

TRIGGER: Final = "gcp:cloudbuild/trigger:Trigger"
_DIGEST: Final = "STEPS="


def redeclared(spec: ImageSpec, run: Plan) -> tuple[str, ...]:
    """Images to build, in build order; one that is built with an image of the list is left out.

    A trigger that is made counts where the stack had others before: a first apply starts nothing by itself.
    """
    triggers = [step for step in run.steps if step.type == TRIGGER]
    first = all(step.op is Op.CREATE for step in triggers)
    changed = {step.name for step in triggers if not (first and step.op is Op.CREATE) and _is_other(step)}
    found = [
        image.name
        for image in spec.order()
        if image.builder is Builder.CLOUDBUILD and names.build_trigger(run.stack, image.name, "message") in changed
    ]
    return tuple(each for each in found if not {image.name for image in spec.ancestors(each)} & set(found))


def _is_other(step: Step) -> bool:
    new, old = step.new_inputs, step.old_inputs
    if step.status is not Status.DONE or new is None or new.get("disabled"):
        return False
    return old is None or bool(old.get("disabled")) or _digest(old) != _digest(new)


def _digest(inputs: Mapping[str, Any]) -> str:
    told = inputs.get("build", {}).get("options", {}).get("envs", ())
    return next((each for each in told if each.startswith(_DIGEST)), "")
