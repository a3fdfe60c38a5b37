"""What a build is given before any recipe is fetched, and the files that the step `plan` leaves for its steps.

Owns which images one build makes and what of its stack counts, and the spelling: one file a step, of shell assignments,
which `images/steps/lib.sh` reads before anything else.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from infra.model.images.pins import Pins
from infra.model.images.places import hub_mirror, places, record_stack
from infra.model.images.spec import Builder, Image, ImageSpec
from infra.model.images.steps import BuildStep, build_steps, checkouts
from infra.model.schema import StackConfig


def common_env(spec: ImageSpec, images: Sequence[Image], steps: Sequence[BuildStep], bootstrap: str) -> dict[str, str]:
    """What the builder tells every step of this build: where its sources are, and which steps it has.

    steps: as for `steps_digest`.
    """
    described = (f"{each.folder} {each.repository} {each.branch}" for each in checkouts(spec, images))
    return {
        "CHECKOUTS": ";".join(described),
        "BUILT": images[0].name,
        "STEPS": steps_digest(spec, images, steps, bootstrap),
    }


def steps_digest(spec: ImageSpec, images: Sequence[Image], steps: Sequence[BuildStep], bootstrap: str) -> str:
    """SHA-256 of what a builder must be told anew when it changes: which steps there are, which sources are fetched,
    and the text that fetches them. What a step is told besides, and the containers and limits of steps, are no part.

    steps: those of `build_steps` as the builder is given them, without a mirror.
    """
    form = {
        "checkouts": [[each.folder, each.repository, each.branch] for each in checkouts(spec, images)],
        "first": bootstrap,
        "steps": [[step.id, step.script, step.after, step.signs_in] for step in steps],
    }
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()


SEVERITY = "critical"
"""Where no stack says from which severity on a finding fails a build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredImages:
    """What a checkout says of images. bootstrap: the first step's text (`steps.bootstrap`). stacks: by name."""

    spec: ImageSpec
    pins: Pins
    stacks: Mapping[str, StackConfig]
    bootstrap: str

    def made(self, name: str) -> tuple[Image, ...]:
        """What one build of an image makes: Cloud Build its descendants too, which at GitHub have jobs of their own."""
        image = self.spec.image(name)
        return self.spec.family(name) if image.builder is Builder.CLOUDBUILD else (image,)

    def steps(self, name: str, today: date) -> tuple[BuildStep, ...]:
        """The steps of a build of an image, with all that they are told."""
        image = self.spec.image(name)
        registry = image.push.artifact_registry
        stack = self.stacks[registry.stack if registry else record_stack(self.spec)]
        return build_steps(
            self.spec,
            self.pins,
            self.made(name),
            self._places,
            severity=stack.builds.severity if stack.builds else SEVERITY,
            # GitHub's machines have no identity that reads the mirror when their BuildKit pulls.
            mirror=hub_mirror(stack) if image.builder is Builder.CLOUDBUILD else "",
            today=today,
        )

    def digest(self, name: str) -> str:
        """The digest of those steps, by which a builder that was told of others is refused."""
        made = self.made(name)
        given = build_steps(self.spec, self.pins, made, self._places)
        return steps_digest(self.spec, made, given, self.bootstrap)

    @property
    def _places(self) -> Mapping[str, tuple[str, ...]]:
        return {each.name: places(each, self.stacks) for each in self.spec.images}


def told_files(steps: Iterable[BuildStep]) -> dict[str, str]:
    """The text of each step's file, by the step's id. Every step has one, so that a missing file means another step."""
    return {step.id: told_text(step.env) for step in steps}


def told_text(values: Mapping[str, str]) -> str:
    """Variables as POSIX shell exports them."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def told_values(text: str) -> dict[str, str]:
    """The variables of such a file."""
    words = (word for word in shlex.split(text) if word != "export")
    return dict(word.split("=", 1) for word in words)
