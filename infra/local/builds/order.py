"""What a builder on this machine is asked to build: an image's recipe, its context and every build argument.

Owns where the arguments come from that a build on a builder service takes from its checkout: the commit, its time, the
repository. Leaves bases, downloads and folders of uv to `infra.model.images.steps`, and building to `builders`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from infra.model.errors import ConfigError, Problem
from infra.model.images.pins import Pins
from infra.model.images.spec import Image, ImageSpec
from infra.model.images.steps import build_args, parent_argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One build. target: the stage to end at, None for the whole image."""

    image: str
    recipe: Path
    context: Path
    arguments: Mapping[str, str]
    target: str | None = None

    @property
    def tag(self) -> str:
        """The name that the image gets on this machine."""
        stage = f"-{self.target}" if self.target else ""
        return f"localhost/tidepool/{self.image}:built{stage}"


def order(
    root: Path,
    spec: ImageSpec,
    pins: Pins,
    image: Image,
    *,
    context: Path | None = None,
    images: Mapping[str, str] | None = None,
    target: str | None = None,
) -> Order:
    """The order for an image of the checkout `root`.

    context: a checkout of the image's own repository; this one where the image reads this one. images: build arguments
    that name images (BASE_IMAGE, PARENT_IMAGE), in place of what is pinned. target: a stage; downloads that only other
    stages take need no checksum then. Raises ConfigError with every problem.
    """
    given, folder = dict(images or {}), root / image.folder
    if context is None and image.context.repository == spec.recipes:
        context = root
    problems = [
        Problem(
            f"{image.name} {parent_argument(image, each)}", "", "an image is built from its parent", f"{each} first"
        )
        for each in image.parents
        if parent_argument(image, each) not in given
    ]
    if context is None or not context.is_dir():
        rule = f"the build reads a checkout of {image.context.repository}"
        problems.append(Problem(f"{image.name} context", str(context or ""), rule, "the folder of such a checkout"))
    if problems or context is None:
        raise ConfigError(problems)
    bases = [pin for argument, pin in image.bases.items() if argument not in given]
    pins.insist([*bases, *(() if target else image.downloads)])
    arguments = {**build_args(spec, pins, image), **given, **_checkout(context, image)}
    return Order(image=image.name, recipe=folder, context=context, arguments=arguments, target=target)


def _checkout(context: Path, image: Image) -> dict[str, str]:
    """Commit and time of the checkout; where git knows none, the start of Unix time, as an honest unknown."""
    command = ["git", "-C", str(context), "log", "-1", "--format=%H %ct"]
    try:
        shown = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    except FileNotFoundError:  # a machine without git
        shown = ""
    revision, seconds = shown.split() if shown else ("unknown", "0")
    return {
        "CREATED": datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "REVISION": revision,
        "SOURCE": f"https://github.com/{image.context.repository}",
        "SOURCE_DATE_EPOCH": seconds,
    }
