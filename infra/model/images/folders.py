"""Rules between `images/images.yaml` and files: image folders, the pin table's entries, and what path filters name.

Owns what must hold of the checkout and of other repositories' files. Does not own rules between values (rules).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath

from infra.model import yamlfile
from infra.model.errors import ConfigError, Problem, shown, suggestion
from infra.model.images.globs import matches
from infra.model.images.listings import command, listing_file
from infra.model.images.pins import PINS_FILE
from infra.model.images.rules import JudgedImage
from infra.model.images.spec import DOCKERFILE, DOCKERIGNORE, SMOKE_TEST, Image
from infra.model.images.steps import parent_argument, variable

# What stands below images/ without being an image: the steps of every build, and listings of other repositories.
_NO_IMAGES = frozenset(("listings", "steps"))


# What every Dockerfile may take: the folders of uv, and what only the build knows.
_BUILD_FACTS = frozenset(
    ("CREATED", "REVISION", "SOURCE", "SOURCE_DATE_EPOCH", "UV_CACHE_DIR", "UV_PROJECT_ENVIRONMENT")
)

# Without a default: what has one is the Dockerfile's own.
_ARGUMENT = re.compile(r"(?m)^ARG ([A-Z0-9_]+)$")


@dataclass(frozen=True, slots=True)
class SharedFiles:
    """What the file says of all images, as far as it is right. folders: of every image, right or not."""

    shared: tuple[str, ...]
    folders: frozenset[str]


def broken(judged: JudgedImage, spec: SharedFiles) -> list[Problem]:
    """Every problem of every rule of this module."""
    return [*_folders(judged, spec), *_recipes(judged), *_pinned(judged), *_path_filters(judged, spec)]


def _folders(judged: JudgedImage, spec: SharedFiles) -> Iterator[Problem]:
    """Every image has its folder, whole, and every folder its image."""
    images = judged.around.root / "images"
    for index, image in judged.images:
        for name in (DOCKERFILE, SMOKE_TEST):
            if not (judged.around.root / image.folder / name).is_file():
                where, value = judged.at(index, "folder"), shown(image.folder)
                yield Problem(where, value, f"the image's folder has no {name}", f"a file {image.folder}/{name}")
    for folder in sorted(path.name for path in images.iterdir() if path.is_dir()) if images.is_dir() else ():
        if folder not in _NO_IMAGES and f"images/{folder}" not in spec.folders:
            rule = "no image has this folder"
            yield Problem(judged.subject(("images",)), f"images/{folder}", rule, "an image with it, or remove it")


def _recipes(judged: JudgedImage) -> Iterator[Problem]:
    """A Dockerfile takes the arguments that its image is given and sees the files that count: all, and no others."""
    for index, image in judged.images:
        dockerfile = judged.around.root / image.folder / DOCKERFILE
        if not dockerfile.is_file():
            continue
        where = judged.at(index, "folder")
        try:
            taken = set(_ARGUMENT.findall(_text(judged, image, DOCKERFILE)))
            seen = _text(judged, image, DOCKERIGNORE).splitlines()
        except ConfigError as error:
            yield from error.problems
            continue
        given = _arguments(image)
        for name in sorted(taken - set(chain.from_iterable(given.values())) - _BUILD_FACTS):
            rule = f"{image.folder}/{DOCKERFILE} takes an argument that its image is not given"
            yield Problem(where, f"ARG {name}", rule, "its base, parent or download in this image, or no ARG")
        for what, names in given.items():
            if not taken & names:
                rule = f"its {DOCKERFILE} takes no such argument"
                yield Problem(where, what, rule, f"ARG {min(names)} there, or remove {what} from this image")
        yield from _ignored(judged, index, image, seen)


def _text(judged: JudgedImage, image: Image, name: str) -> str:
    """A file of the image's folder, empty where it is not there; ConfigError where it is no text."""
    path = judged.around.root / image.folder / name
    return yamlfile.decoded(path.read_bytes(), f"{image.folder}/{name}") if path.is_file() else ""


def _arguments(image: Image) -> dict[str, set[str]]:
    """What each base, parent and download of an image is given to its Dockerfile as."""
    found = {name: {argument} for argument, name in image.bases.items()}
    found |= {name: {parent_argument(image, name)} for name in image.parents}
    kinds = ("URL", "SHA256", "VERSION")
    return found | {name: {f"{variable(name)}_{kind}" for kind in kinds} for name in image.downloads}


def _ignored(judged: JudgedImage, index: int, image: Image, lines: Sequence[str]) -> Iterator[Problem]:
    seen = {line.removeprefix("!") for line in lines if line.startswith("!")}
    # An ignore file means all that is in a folder by its name alone; some builders take no other form.
    paths = {each.removesuffix("/**") for each in image.context.paths}
    # Builders differ on whether a folder must be let through before what is in it is.
    opened = {str(folder) for each in paths for folder in PurePosixPath(each).parents}
    if "*" not in lines or not paths <= {each.removesuffix("/**") for each in seen} <= paths | opened:
        said = ", ".join(sorted(seen)) or "nothing"
        rule = f"{image.folder}/{DOCKERIGNORE} is not * and then !PATH of each path of the context"
        yield Problem(judged.at(index, "context", "paths"), said, rule, "the same paths in both files")


def _pinned(judged: JudgedImage) -> Iterator[Problem]:
    """Bases and downloads are entries of the pin table, each of its kind."""
    pins = judged.around.pins
    if pins is None:
        return
    for index, image in judged.images:
        for argument, name in image.bases.items():
            where = judged.at(index, "bases", argument)
            if name not in pins.bases:
                yield _no_entry(where, name, "bases", pins.bases)
        for number, name in enumerate(image.downloads):
            if name not in pins.downloads:
                yield _no_entry(judged.at(index, "downloads", number), name, "downloads", pins.downloads)


def _no_entry(where: str, name: str, kind: str, known: Mapping[str, object]) -> Problem:
    fix = suggestion(name, known, f"an entry {name} there")
    return Problem(where, shown(name), f"{PINS_FILE} has no such entry of {kind}", fix)


def _path_filters(judged: JudgedImage, spec: SharedFiles) -> Iterator[Problem]:
    """Every path filter names a file of its repository."""
    filters: dict[str, list[tuple[str, str]]] = {}
    if judged.recipes is not None:
        own = filters.setdefault(judged.recipes, [])
        own += [(judged.subject(("shared", number)), text) for number, text in enumerate(spec.shared)]
    for index, image in judged.images:
        paths = enumerate(image.context.paths)
        here = filters.setdefault(image.context.repository, [])
        here += [(judged.at(index, "context", "paths", number), text) for number, text in paths]
    for repository, each in filters.items():
        yield from _naming_nothing(judged, repository, each)


def _naming_nothing(judged: JudgedImage, repository: str, filters: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    try:
        files = judged.around.files(repository, judged.recipes)
    except ConfigError as error:
        yield from error.problems
        return
    if files is None:
        rule = f"no list of files of {repository} is here to check path filters against"
        yield Problem(judged.subject(("images",)), listing_file(repository), rule, command(repository))
        return
    ours = judged.recipes is not None and repository.lower() == judged.recipes.lower()
    fix = "a path from the top of the repository"
    for where, pattern in filters:
        if not any(matches(path, pattern) for path in files):
            anew = "" if ours else f"; where it is right and new, {command(repository)}"
            yield Problem(where, shown(pattern), f"the path filter names no file of {repository}", f"{fix}{anew}")
