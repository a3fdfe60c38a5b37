"""Everything that a checkout declares about images: the images, their pins, and the stacks whose pools run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.model.errors import ConfigError, Problem
from infra.model.images.load import load_images
from infra.model.images.pins import Pins, load_pins
from infra.model.images.places import places, record_stack, uses
from infra.model.images.spec import SPEC_FILE, Image, ImageSpec
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.operations.workspace import workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """Everything that this checkout declares about images."""

    root: Path
    spec: ImageSpec
    pins: Pins
    stacks: Mapping[str, StackConfig]

    def image(self, name: str) -> Image:
        """The image of that name; ConfigError with the known ones where there is none."""
        known = [each.name for each in self.spec.images]
        if name not in known:
            fix = f"one of {', '.join(sorted(known))}"
            raise ConfigError([Problem("image", name, f"{SPEC_FILE} declares no such image", fix)])
        return self.spec.image(name)

    def named(self, subject: str) -> tuple[str, str | None]:
        """`IMAGE` or `IMAGE@DIGEST` taken apart; ConfigError where no such image is declared."""
        name, _, digest = subject.partition("@")
        return self.image(name).name, digest or None

    def pools_of(self, image: Image) -> Sequence[str]:
        """The pools that may run an image."""
        return sorted(pool for pool, images in uses(self.spec, self.stacks).items() if image.name in images)

    def places(self, image: str) -> tuple[str, ...]:
        return places(self.spec.image(image), self.stacks)

    @property
    def repositories(self) -> tuple[str, ...]:
        """Every repository that images are built from, sorted."""
        return tuple(sorted({self.spec.recipes, *(image.context.repository for image in self.spec.images)}))

    def repository(self, name: str) -> str:
        """The repository as the file spells it; ConfigError where no image is built from it."""
        for each in self.repositories:
            if each.lower() == name.lower():
                return each
        fix = f"one of {', '.join(self.repositories)}"
        raise ConfigError([Problem("repository", name, f"no image of {SPEC_FILE} is built from it", fix)])

    @property
    def home(self) -> StackConfig:
        """The stack whose fleet bucket has the record."""
        return self.stacks[record_stack(self.spec)]


def declared() -> Lab:
    """What images.yaml, the pins and all stack files say; ConfigError with every problem."""
    root = workspace().root
    stacks = {name: load_stack(root, name) for name in stack_names(root)}
    return Lab(root=root, spec=load_images(root, stacks), pins=load_pins(root), stacks=stacks)
