"""Rules between values of `images/images.yaml`, and what they judge by. Each yields every Problem it finds.

Owns what must hold of several values. Does not own what a single value may be (spec), what must hold of the stacks that
are named (stack_rules) nor of files (folders). An image that is wrong by itself takes no part, but its name is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from infra.model.errors import Problem, shown, suggestion
from infra.model.images.listings import load_listing
from infra.model.images.pins import PINS_FILE, Pins
from infra.model.images.spec import Builder, Image, ScanException
from infra.model.refusals import Subject
from infra.model.schema import StackConfig

# Folders that are no part of a repository: version control, environments, caches and what the launcher keeps.
_NOT_COMMITTED = frozenset(
    (".git", ".hypothesis", ".import_linter_cache", ".pytest_cache", ".ruff_cache", ".tidepool", ".venv", "__pycache__")
)


@dataclass(frozen=True, slots=True)
class ImageContext:
    """root: this project's checkout. stacks: by name. pins: None where the table cannot be read.

    checkouts: working copies of other repositories by owner/name; their committed listings count otherwise.
    """

    root: Path
    stacks: Mapping[str, StackConfig]
    pins: Pins | None
    checkouts: Mapping[str, Path] = field(default_factory=dict)

    def files(self, repository: str, recipes: str | None) -> tuple[str, ...] | None:
        """The files of a repository, or as many of them as its listing has; None where neither is there.

        recipes: the repository that `root` is a checkout of. ConfigError where a listing is not right.
        """
        if recipes is not None and repository.lower() == recipes.lower():
            return files_below(self.root)
        for name, checkout in self.checkouts.items():
            if name.lower() == repository.lower():
                return files_below(checkout)
        listing = load_listing(self.root, repository)
        return listing.paths if listing is not None else None


def files_below(root: Path) -> tuple[str, ...]:
    """Every file of a checkout as a path from its top, sorted; what is never committed is left out."""
    return tuple(sorted(_walk(root)))


def _walk(root: Path) -> Iterator[str]:
    """A folder right below the root may be lent by a link, as in the copies that engines and benchmarks work on."""
    lent = [each for each in root.iterdir() if each.is_symlink() and each.is_dir() and each.name not in _NOT_COMMITTED]
    for top in (root, *lent):
        for folder, below, names in os.walk(top):
            below[:] = [name for name in below if name not in _NOT_COMMITTED]
            for name in names:
                yield Path(folder, name).relative_to(root).as_posix()


@dataclass(frozen=True, slots=True)
class JudgedImage:
    """The images that are right by themselves, each with its place in the list, and every name that is written.

    recipes: the repository with the Dockerfiles, where it is right.
    """

    images: tuple[tuple[int, Image], ...]
    names: frozenset[str]
    recipes: str | None
    subject: Subject
    around: ImageContext

    def at(self, index: int, *path: str | int) -> str:
        """Where a part of the image at `index` stands, for people."""
        return self.subject(("images", index, *path))


Rule = Callable[[JudgedImage], Iterator[Problem]]


def broken(judged: JudgedImage) -> list[Problem]:
    """Every problem of every rule."""
    return list(chain.from_iterable(rule(judged) for rule in _RULES))


def strange_exceptions(judged: JudgedImage, exceptions: Sequence[ScanException]) -> Iterator[Problem]:
    """Exceptions of the scan that name images which this file does not build."""
    for index, exception in enumerate(exceptions):
        for number, name in enumerate(exception.images):
            if name not in judged.names:
                fix = suggestion(name, sorted(judged.names), "an image of this file")
                where = judged.subject(("exceptions", index, "images", number))
                yield Problem(where, shown(name), "this file has no such image", fix)


def _repeats(judged: JudgedImage) -> Iterator[Problem]:
    for key in ("name", "folder"):
        seen: set[str] = set()
        for index, image in judged.images:
            value = getattr(image, key)
            if value in seen:
                yield Problem(judged.at(index, key), shown(value), f"the {key} is listed twice", f"another {key}")
            seen.add(value)
    for index, image in judged.images:
        lists = {
            ("context", "paths"): image.context.paths,
            ("parents",): image.parents,
            ("downloads",): image.downloads,
            ("platforms",): image.platforms,
            ("tags",): image.tags,
            ("used_by", "pools"): image.used_by.pools,
            ("used_by", "roles"): image.used_by.roles,
            ("used_by", "workflows"): image.used_by.workflows,
        }
        for path, values in lists.items():
            for number, value in enumerate(values):
                if value in values[:number]:
                    rule = f"the item of {path[-1]} is listed twice"
                    yield Problem(judged.at(index, *path, number), shown(value), rule, "remove one of the two")


def _parents(judged: JudgedImage) -> Iterator[Problem]:
    right = {image.name: image for _, image in judged.images}
    for index, image in judged.images:
        for number, name in enumerate(image.parents):
            where, parent = judged.at(index, "parents", number), right.get(name)
            if name not in judged.names:
                listed = f"an image of this file; what others build is a base of {PINS_FILE}"
                fix = suggestion(name, sorted(judged.names), listed)
                yield Problem(where, shown(name), "this file builds no such image", fix)
            elif parent is not None and parent.builder is not image.builder:
                rule = f"a child is built with its parents, and {name} has {parent.builder}"
                yield Problem(where, shown(name), rule, f"builder: {parent.builder} for {image.name}")
            elif parent is not None:
                yield from _unlike(judged, index, image, parent)
        if not image.parents and not image.bases:
            rule = "the image is built from no base and no parent"
            yield Problem(judged.at(index), image.name, rule, "bases: {BASE_IMAGE: NAME}, or parents: [NAME]")


def _unlike(judged: JudgedImage, index: int, image: Image, parent: Image) -> Iterator[Problem]:
    """What a child must have as its parents have it, since one build makes both."""
    if any(platform not in parent.platforms for platform in image.platforms):
        rule = f"not a platform of its parent: {parent.name} has {', '.join(parent.platforms)}"
        fix = f"platforms of {parent.name}, or fewer"
        yield Problem(judged.at(index, "platforms"), shown(list(image.platforms)), rule, fix)
    if image.context.repository.lower() != parent.context.repository.lower():
        rule = f"its parent reads another repository: {parent.name} reads {parent.context.repository}"
        where = judged.at(index, "context", "repository")
        yield Problem(where, shown(image.context.repository), rule, parent.context.repository)
    ours, theirs = image.when.push, parent.when.push
    if ours is not None and theirs is not None and ours.branch != theirs.branch:
        rule = f"its parent follows another branch: {parent.name} follows {theirs.branch}"
        yield Problem(judged.at(index, "when", "push", "branch"), shown(ours.branch), rule, theirs.branch)


def _cycles(judged: JudgedImage) -> Iterator[Problem]:
    places = {image.name: (index, image) for index, image in judged.images}
    waiting = {name: set(image.parents) & places.keys() for name, (_, image) in places.items()}
    while free := [name for name, parents in waiting.items() if not parents & waiting.keys()]:
        for name in free:
            del waiting[name]
    for name in _on_a_cycle(waiting):
        circle = " from ".join(_circle(name, waiting))
        yield Problem(
            judged.at(places[name][0], "parents"), circle, "the image is built from itself", "one parent less"
        )


def _on_a_cycle(waiting: dict[str, set[str]]) -> Iterator[str]:
    """The first name of each cycle among images of which none can be built first."""
    told: set[str] = set()
    for name in sorted(waiting):
        circle = _circle(name, waiting)
        if circle[0] == circle[-1] and not told & set(circle):
            told.update(circle)
            yield name


def _circle(name: str, waiting: dict[str, set[str]]) -> list[str]:
    """The way from an image through parents of parents until one comes again."""
    way = [name]
    while True:
        following = min(parent for parent in waiting[way[-1]] if parent in waiting)
        way.append(following)
        if following in way[:-1]:
            return way


def _push(judged: JudgedImage) -> Iterator[Problem]:
    for index, image in judged.images:
        registry, ghcr = image.push.artifact_registry, image.push.ghcr
        where = judged.at(index, "push")
        if (registry is None) == (ghcr is None):
            said = "both" if ghcr is not None else "neither"
            rule = "the image goes to Artifact Registry and to GHCR, and a builder writes one of them"
            yield Problem(where, said, rule, "artifact_registry: {stack, repository}, or ghcr: ghcr.io/OWNER/NAME")
        elif ghcr is not None and image.builder is Builder.CLOUDBUILD:
            rule = "Cloud Build cannot write GHCR: it holds no token of GitHub's"
            yield Problem(judged.at(index, "push", "ghcr"), shown(ghcr), rule, "builder: github, or artifact_registry")
        elif registry is not None and image.builder is Builder.GITHUB:
            rule = "GitHub jobs cannot write Artifact Registry: only the stack's builder may"
            yield Problem(judged.at(index, "push", "artifact_registry"), "", rule, "builder: cloudbuild, or ghcr")


def _owners(judged: JudgedImage) -> Iterator[Problem]:
    """The token of a GitHub job writes packages of its repository's owner alone."""
    for index, image in judged.images:
        if image.push.ghcr is None:
            continue
        repositories = (image.context.repository, *((judged.recipes,) if judged.recipes else ()))
        owners = {repository.partition("/")[0].lower(): None for repository in repositories}
        _, owner, name = image.push.ghcr.split("/", 2)
        if owner not in owners:
            said = f"{' and '.join(owners)}, by recipes and context.repository"
            rule = f"a GitHub job's token writes packages of its repository's owner: {said}"
            fix = " or ".join(f"ghcr.io/{each}/{name}" for each in owners)
            yield Problem(judged.at(index, "push", "ghcr"), shown(image.push.ghcr), rule, fix)


_RULES: tuple[Rule, ...] = (_repeats, _parents, _cycles, _push, _owners)
