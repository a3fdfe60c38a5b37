"""What a change of files rebuilds: which images, in which order, and why; and what an apply leaves to be built.

Owns the rule; a build trigger's included files are the same filters (`included`). Does not start anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.model import names
from infra.model.federation import IMAGES_WORKFLOW
from infra.model.images import TRIGGER
from infra.model.images.globs import first_match
from infra.model.images.pins import PINS_FILE, Pins
from infra.model.images.places import places
from infra.model.images.spec import SPEC_FILE, Builder, Image, ImageSpec
from infra.model.images.steps import BUILT_BY
from infra.model.plan import Op, Plan, Status, Step
from infra.model.schema import StackConfig


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """A file that was added, changed or removed: `repository` is owner/name, `path` from its top."""

    repository: str
    path: str


@dataclass(frozen=True, slots=True)
class Rebuild:
    """An image that is built again. `reason` is a sentence; `targets` are the places it is pushed to."""

    image: str
    reason: str
    builder: Builder
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Before:
    """The two tables as they were before the changes, where they are known: then only what uses an edited entry counts.

    pins and spec: what images/bases.yaml and images/images.yaml said; `pins_now` is what the first says now.
    """

    spec: ImageSpec | None = None
    pins: Pins | None = None
    pins_now: Pins | None = None


def rebuilds(
    spec: ImageSpec, changes: Iterable[Change], stacks: Mapping[str, StackConfig], before: Before | None = None
) -> tuple[Rebuild, ...]:
    """What these changes rebuild, each image after its parents; a rebuilt parent rebuilds all its descendants."""
    changes = sorted(set(changes))
    found: dict[str, Rebuild] = {}
    for image in spec.order():
        reason = _reason(spec, image, changes, before or Before())
        parents = [parent for parent in image.parents if parent in found]
        if reason is None and parents:
            reason = f"{image.name} is built from {' and '.join(parents)}"
        if reason is not None:
            found[image.name] = Rebuild(image.name, reason, image.builder, places(image, stacks))
    return tuple(found.values())


def included(spec: ImageSpec, image: Image, repository: str) -> tuple[str, ...]:
    """The filters of one repository whose files the image reads, sorted; empty where it reads none of it.

    Of GitHub's images the workflow too, which says their steps: recipes are always the newest, so that an earlier
    push's run meets steps other than its own and is refused, and the push that changed them has to build in its place.
    """
    filters: set[str] = set()
    if _same(repository, image.context.repository):
        filters.update(image.context.paths)
    if _same(repository, spec.recipes):
        filters.update(spec.shared, (f"{image.folder}/**", SPEC_FILE, PINS_FILE))
        if image.builder is Builder.GITHUB:
            filters.add(IMAGES_WORKFLOW)
    return tuple(sorted(filters))


def trigger_files(spec: ImageSpec, image: Image, repository: str) -> tuple[str, ...]:
    """The included files of the image's own push trigger.

    What an ancestor's trigger on the same branch includes is left out: that build makes this image too, once.
    """
    covered: set[str] = set()
    for ancestor in spec.ancestors(image.name):
        if ancestor.when.push is not None and ancestor.when.push == image.when.push:
            covered.update(included(spec, ancestor, repository))
    return tuple(each for each in included(spec, image, repository) if each not in covered)


def trigger_ignores(spec: ImageSpec, repository: str) -> tuple[str, ...]:
    """The ignored files of every push trigger of that repository."""
    return spec.ignored if _same(repository, spec.recipes) else ()


def _same(repository: str, other: str) -> bool:
    """GitHub's names of repositories differ in case alone for nobody."""
    return repository.lower() == other.lower()


def _reason(spec: ImageSpec, image: Image, changes: Collection[Change], before: Before) -> str | None:
    sentences = [said for change in changes if (said := _because(spec, image, change, before)) is not None]
    if not sentences:
        return None
    more = len(sentences) - 1
    return f"{sentences[0]}{f' (and {more} more {_files(more)})' if more else ''}"


def _files(count: int) -> str:
    return "file" if count == 1 else "files"


def _because(spec: ImageSpec, image: Image, change: Change, before: Before) -> str | None:
    """Why this change rebuilds this image, its parents aside."""
    ours = _same(change.repository, spec.recipes)
    if ours and change.path == PINS_FILE:
        return _edited_pins(image, before)
    if ours and change.path == SPEC_FILE:
        return _edited_spec(spec, image, before)
    if ours and first_match(change.path, spec.ignored):
        return None
    pattern = first_match(change.path, included(spec, image, change.repository))
    if pattern is None:
        return None
    kind = "what all images share" if pattern in spec.shared and ours else f"what {image.name} is built from"
    if ours and pattern == IMAGES_WORKFLOW:
        kind = f"what {image.name} is built by"
    named = "is" if pattern == change.path else f"matches {pattern},"
    return f"{change.path} {named} {kind}"


def _edited_pins(image: Image, before: Before) -> str | None:
    """An image is made of its own pins, by BuildKit and its client; no byte of it follows from a scanner."""
    used = tuple(sorted({*image.pins, *BUILT_BY}))
    if before.pins is None or before.pins_now is None:
        return f"{PINS_FILE} pins {', '.join(used)} of {image.name}"
    edited = [name for name in used if before.pins.entry(name) != before.pins_now.entry(name)]
    return f"{PINS_FILE} pins another {' and '.join(edited)} for {image.name}" if edited else None


def _edited_spec(spec: ImageSpec, image: Image, before: Before) -> str | None:
    if before.spec is None:
        return f"{SPEC_FILE} says how {image.name} is built"
    earlier = next((each for each in before.spec.images if each.name == image.name), None)
    if earlier is None:
        return f"{SPEC_FILE} declares {image.name} anew"
    edited = [key for key in _INPUTS if getattr(earlier, key) != getattr(image, key)]
    if before.spec.paths != spec.paths:
        edited.append("paths")
    return f"{SPEC_FILE} says another {' and '.join(edited)} for {image.name}" if edited else None


# What of an image's entry its bytes and its places follow from; its users, its schedule and its tags do not.
_INPUTS = ("folder", "context", "builder", "parents", "bases", "downloads", "platforms", "push")


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
