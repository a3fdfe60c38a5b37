"""Reading `images/images.yaml`: from the checkout to an ImageSpec that holds every rule, or every problem at once.

Owns the way. Does not own which keys exist (spec), rules between values (rules), nor the lists of other repositories'
files (listings).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from infra.model.errors import ConfigError, Problem
from infra.model.images.reading import Written, parsed
from infra.model.images.spec import SPEC_FILE, ImageSpec
from infra.model.schema import StackConfig


def load_images(root: Path, stacks: Mapping[str, StackConfig]) -> ImageSpec:  # noqa: ARG001 - rules judge by them
    """The images of `root/images/images.yaml`; ConfigError with all that is wrong."""
    path = root / SPEC_FILE
    if not path.is_file():
        raise ConfigError([Problem(SPEC_FILE, "", "images are declared in one file", f"a file {SPEC_FILE}")])
    return parse_images(path.read_text())


def parse_images(text: str, source: str = SPEC_FILE) -> ImageSpec:
    """The images that `text` declares; `source` is how people call the file. ConfigError with every problem."""
    written = Written.read(text, source)
    spec, problems = parsed(ImageSpec, written.data, written.subject)
    if spec is None or problems or written.problems:
        raise ConfigError([*written.problems, *problems])
    return spec
