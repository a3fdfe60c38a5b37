"""Reading `images/images.yaml`: from the checkout to an ImageSpec that holds every rule, or every problem at once.

Owns the way. Does not own which keys exist (spec), rules (rules, stack_rules, folders), nor where what they judge by
comes from (`rules.ImageContext`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from infra.model import yamlfile
from infra.model.errors import ConfigError, Problem
from infra.model.images import folders, rules, stack_rules
from infra.model.images.pins import load_pins
from infra.model.images.reading import WrittenFile, parsed
from infra.model.images.rules import ImageContext
from infra.model.images.spec import SPEC_FILE, Image, ImageSpec, PathFilter
from infra.model.schema import StackConfig


def load_images(
    root: Path, stacks: Mapping[str, StackConfig], *, checkouts: Mapping[str, Path] | None = None
) -> ImageSpec:
    """The images of `root/images/images.yaml`; ConfigError with all that is wrong, in the pin table too.

    stacks: by name. checkouts: working copies of other repositories by owner/name, in whose place their committed
    listings are used otherwise.
    """
    path = root / SPEC_FILE
    if not path.is_file():
        raise ConfigError([Problem(SPEC_FILE, "", "the file that declares images is missing", f"a file {SPEC_FILE}")])
    pins, problems = None, ()
    try:
        pins = load_pins(root)
    except ConfigError as error:
        problems = error.problems
    around = ImageContext(root=root, stacks=stacks, pins=pins, checkouts=checkouts or {})
    try:
        spec = parse_images(yamlfile.decoded(path.read_bytes(), SPEC_FILE), around)
    except ConfigError as error:
        raise ConfigError([*problems, *error.problems]) from error
    if problems:
        raise ConfigError(problems)
    return spec


def parse_images(text: str, around: ImageContext, source: str = SPEC_FILE) -> ImageSpec:
    """The images that `text` declares; `source` is how people call the file. ConfigError with every problem."""
    written = WrittenFile.read(text, source)
    spec, problems = parsed(ImageSpec, written.data, written.subject)
    judged = _judged(written, around)
    problems += [*rules.broken(judged), *stack_rules.broken(judged), *folders.broken(judged, _shared(written.data))]
    problems += rules.strange_exceptions(judged, spec.exceptions if spec else ())
    # A value that could not be read as it is written is wrong for that alone.
    unread = {problem.subject for problem in written.problems}
    problems = [*written.problems, *(problem for problem in problems if problem.subject not in unread)]
    if spec is None or problems:
        raise ConfigError(problems)
    return spec


def _judged(written: WrittenFile, around: ImageContext) -> rules.JudgedImage:
    """The images that are right by themselves, so that rules between values are checked in the same go."""
    items, recipes = _items(written.data), written.data.get("recipes")
    read = ((index, _right(item)) for index, item in enumerate(items))
    return rules.JudgedImage(
        images=tuple((index, image) for index, image in read if image is not None),
        names=frozenset(_texts(items, "name")),
        recipes=recipes if isinstance(recipes, str) else None,
        subject=written.subject,
        around=around,
    )


def _right(item: object) -> Image | None:
    """The image, or None for one whose mistakes the schema tells in its place."""
    try:
        return Image.model_validate(item)
    except ValidationError:
        return None


def _shared(data: Mapping[str, Any]) -> folders.SharedFiles:
    return folders.SharedFiles(
        shared=_filters(data.get("shared")),
        folders=frozenset(_texts(_items(data), "folder")),
    )


def _items(data: Mapping[str, Any]) -> list[Any]:
    items = data.get("images")
    return items if isinstance(items, list) else []


def _texts(items: list[Any], key: str) -> list[str]:
    return [item[key] for item in items if isinstance(item, dict) and isinstance(item.get(key), str)]


def _filters(value: object) -> tuple[str, ...]:
    """The list, where all of it is right: what is not is told by the schema, and one place is enough."""
    try:
        return TypeAdapter(tuple[PathFilter, ...]).validate_python(value if value is not None else ())
    except ValidationError:
        return ()
