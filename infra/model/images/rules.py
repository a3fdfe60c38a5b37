"""Rules between values of `images/images.yaml`, and between it and the stacks. Each yields every Problem it finds.

Owns what must hold of several values and of the stacks that they name. Does not own what a single value may be (spec)
nor what must hold of files (folders). An image that is wrong by itself takes no part, but its name is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from infra.model.catalogue import nearest_names
from infra.model.errors import Problem
from infra.model.images.pins import PINS_FILE
from infra.model.images.places import places
from infra.model.images.spec import Builder, Image
from infra.model.images.surroundings import Surroundings
from infra.model.names import IN_USE_PREFIX
from infra.model.refusals import Subject, shown
from infra.model.schema import Cleanup, Repository, StackConfig

ROLES = ("broker", "controller")
"""The stack's own identities that run an image of ours; the builder runs what it builds with, which is pinned."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The images that are right by themselves, each with its place in the list, and every name that is written."""

    images: tuple[tuple[int, Image], ...]
    names: frozenset[str]
    subject: Subject
    around: Surroundings

    def at(self, index: int, *path: str | int) -> str:
        """Where a part of the image at `index` stands, for people."""
        return self.subject(("images", index, *path))


Rule = Callable[[Judged], Iterator[Problem]]


def broken(judged: Judged) -> list[Problem]:
    """Every problem of every rule."""
    return list(chain.from_iterable(rule(judged) for rule in _RULES))


def _repeats(judged: Judged) -> Iterator[Problem]:
    for key in ("name", "folder"):
        seen: set[str] = set()
        for index, image in judged.images:
            value = getattr(image, key)
            if value in seen:
                yield Problem(judged.at(index, key), shown(value), f"a {key} stands once", f"another {key}")
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
                    rule = f"an item of {path[-1]} stands once"
                    yield Problem(judged.at(index, *path, number), shown(value), rule, "remove one of the two")


def _parents(judged: Judged) -> Iterator[Problem]:
    right = {image.name: image for _, image in judged.images}
    for index, image in judged.images:
        for number, name in enumerate(image.parents):
            where, parent = judged.at(index, "parents", number), right.get(name)
            if name not in judged.names:
                nearest = nearest_names(name, tuple(sorted(judged.names)))
                fix = nearest[0] if nearest else f"an image of this file; what others build is a base of {PINS_FILE}"
                yield Problem(where, shown(name), "a parent is an image that this file builds", fix)
            elif parent is not None and parent.builder is not image.builder:
                rule = f"a child is built with its parents, from the digest just made; {name} has {parent.builder}"
                yield Problem(where, shown(name), rule, f"builder: {parent.builder} for {image.name}")
            elif parent is not None:
                yield from _unlike(judged, index, image, parent)
        if not image.parents and not image.bases:
            rule = "an image is built from a base or from a parent"
            yield Problem(judged.at(index), image.name, rule, "bases: {BASE_IMAGE: NAME}, or parents: [NAME]")


def _unlike(judged: Judged, index: int, image: Image, parent: Image) -> Iterator[Problem]:
    """What a child must have as its parents have it, since one build makes both."""
    if any(platform not in parent.platforms for platform in image.platforms):
        rule = f"a child has its parents' platforms; {parent.name} has {', '.join(parent.platforms)}"
        fix = f"platforms of {parent.name}, or fewer"
        yield Problem(judged.at(index, "platforms"), shown(list(image.platforms)), rule, fix)
    if image.context.repository.lower() != parent.context.repository.lower():
        rule = f"one build reads one repository; {parent.name} reads {parent.context.repository}"
        where = judged.at(index, "context", "repository")
        yield Problem(where, shown(image.context.repository), rule, parent.context.repository)
    ours, theirs = image.when.push, parent.when.push
    if ours is not None and theirs is not None and ours.branch != theirs.branch:
        rule = f"one build reads one branch; {parent.name} follows {theirs.branch}"
        yield Problem(judged.at(index, "when", "push", "branch"), shown(ours.branch), rule, theirs.branch)


def _cycles(judged: Judged) -> Iterator[Problem]:
    places = {image.name: (index, image) for index, image in judged.images}
    waiting = {name: set(image.parents) & places.keys() for name, (_, image) in places.items()}
    while free := [name for name, parents in waiting.items() if not parents & waiting.keys()]:
        for name in free:
            del waiting[name]
    for name in _on_a_cycle(waiting):
        circle = " from ".join(_circle(name, waiting))
        yield Problem(judged.at(places[name][0], "parents"), circle, "nothing is built from itself", "one parent less")


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


def _push(judged: Judged) -> Iterator[Problem]:
    for index, image in judged.images:
        registry, ghcr = image.push.artifact_registry, image.push.ghcr
        where = judged.at(index, "push")
        if (registry is None) == (ghcr is None):
            said = "both" if ghcr is not None else "neither"
            rule = "an image goes to Artifact Registry or to GHCR: the builder writes one of them"
            yield Problem(where, said, rule, "artifact_registry: {stack, repository}, or ghcr: ghcr.io/OWNER/NAME")
        elif ghcr is not None and image.builder is Builder.CLOUDBUILD:
            rule = "Cloud Build holds no token of GitHub's; GHCR is written by GitHub jobs, with their own"
            yield Problem(judged.at(index, "push", "ghcr"), shown(ghcr), rule, "builder: github, or artifact_registry")
        elif registry is not None and image.builder is Builder.GITHUB:
            rule = "Artifact Registry is written by the stack's builder alone; GitHub jobs start it and write nothing"
            yield Problem(judged.at(index, "push", "artifact_registry"), "", rule, "builder: cloudbuild, or ghcr")


def _registries(judged: Judged) -> Iterator[Problem]:
    for index, image in judged.images:
        registry = image.push.artifact_registry
        if registry is None:
            continue
        at = ("push", "artifact_registry")
        stack = judged.around.stacks.get(registry.stack)
        if stack is None:
            yield _unknown_stack(registry.stack, judged.at(index, *at, "stack"), judged.around.stacks)
        elif stack.registries is None:
            having = [name for name, each in judged.around.stacks.items() if each.registries is not None]
            rule, fix = f"stack {stack.stack} has no registries", f"one of {', '.join(sorted(having))}"
            yield Problem(
                judged.at(index, *at, "stack"), shown(registry.stack), rule, fix if having else "a stack's own"
            )
        else:
            for number, region in enumerate(registry.regions or ()):
                if region not in stack.registries.regions:
                    rule = f"stack {stack.stack} has no repository in {region}"
                    fix = f"one of {', '.join(stack.registries.regions)}"
                    yield Problem(judged.at(index, *at, "regions", number), shown(region), rule, fix)
                elif region in (registry.regions or ())[:number]:
                    where = judged.at(index, *at, "regions", number)
                    yield Problem(where, shown(region), "a region stands once", "remove one of the two")
            if registry.regions == ():
                where = judged.at(index, *at, "regions")
                yield Problem(
                    where, "[]", "an image goes somewhere", "regions of the stack, or no line for all of them"
                )
            repository = _repository(image, stack)
            if repository is None:
                names = [each.name for each in stack.registries.repositories]
                rule, fix = f"a repository of stack {stack.stack}", f"one of {', '.join(names)}"
                yield Problem(judged.at(index, *at, "repository"), shown(registry.repository), rule, fix)
            else:
                yield from _cleanup(judged, index, image, repository)


def _repository(image: Image, stack: StackConfig) -> Repository | None:
    registry = image.push.artifact_registry
    repositories = stack.registries.repositories if stack.registries is not None else ()
    return next((each for each in repositories if registry is not None and each.name == registry.repository), None)


def _cleanup(judged: Judged, index: int, image: Image, repository: Repository) -> Iterator[Problem]:
    """What the repository forgets is said in the stack, and what the image says of it must be that."""
    cleanup = repository.cleanup or Cleanup.model_construct(delete_older_than="never", keep_newest=None)
    for key in ("delete_older_than", "keep_newest"):
        said, done = getattr(image.retention, key), getattr(cleanup, key)
        if said != done:
            rule = f"the repository {repository.name} has {key}: {done if done is not None else 'nothing'}"
            yield Problem(judged.at(index, "retention", key), shown(said), rule, "the same in both files")
    kept = tuple(cleanup.keep_tag_prefixes)
    if (image.used_by.pools or image.used_by.roles) and IN_USE_PREFIX not in kept and repository.cleanup is not None:
        rule = f"what runs is kept by its tag; the repository {repository.name} keeps no {IN_USE_PREFIX}"
        yield Problem(judged.at(index, "used_by"), "", rule, f"keep_tag_prefixes: [{IN_USE_PREFIX}] in the stack")
    for number, tag in enumerate(image.tags):
        if any(tag.startswith(prefix) for prefix in kept):
            rule = f"tags that start with {', '.join(kept)} keep a digest for ever; promotion alone gives them"
            yield Problem(judged.at(index, "tags", number), shown(tag), rule, "another tag")


def _one_writer(judged: Judged) -> Iterator[Problem]:
    owner: dict[str, str] = {}
    for index, image in judged.images:
        if not _can_be_placed(image, judged.around.stacks):
            continue
        for place in places(image, judged.around.stacks):
            if owner.setdefault(place, image.name) != image.name:
                rule = f"a place has one image; {owner[place]} goes there already"
                yield Problem(judged.at(index, "push"), place, rule, "another place for one of the two")


def _can_be_placed(image: Image, stacks: Iterable[str]) -> bool:
    registry = image.push.artifact_registry
    return registry is None or registry.stack in stacks


def _users(judged: Judged) -> Iterator[Problem]:
    parents = {parent for _, image in judged.images for parent in image.parents}
    for index, image in judged.images:
        used = image.used_by
        if not (used.pools or used.roles or used.workflows or image.name in parents):
            rule = "what is built is used: by a pool, a role, a workflow or an image built from it"
            yield Problem(judged.at(index, "used_by"), "", rule, "who runs it, or remove the image")
        if used.stack is None and (used.pools or used.roles):
            where = judged.at(index, "used_by")
            yield Problem(where, "", "pools and roles are a stack's", "stack: NAME beside them")
        elif used.stack is not None:
            yield from _users_of_stack(judged, index, image, used.stack)


def _users_of_stack(judged: Judged, index: int, image: Image, name: str) -> Iterator[Problem]:
    stack = judged.around.stacks.get(name)
    if stack is None:
        yield _unknown_stack(name, judged.at(index, "used_by", "stack"), judged.around.stacks)
        return
    known = {"pools": tuple(pool.name for pool in stack.pools), "roles": ROLES}
    for key, names in known.items():
        for number, user in enumerate(getattr(image.used_by, key)):
            if user not in names:
                fix = f"one of {', '.join(nearest_names(user, names) or names)}" if names else "another stack"
                rule = f"a pool of stack {name}" if key == "pools" else "a role that runs an image"
                yield Problem(judged.at(index, "used_by", key, number), shown(user), rule, fix)


def _unknown_stack(name: str, where: str, stacks: Iterable[str]) -> Problem:
    known = tuple(sorted(stacks))
    fix = f"one of {', '.join(nearest_names(name, known) or known)}" if known else f"a file stacks/Pulumi.{name}.yaml"
    return Problem(where, shown(name), "a stack that has a file", fix)


_RULES: tuple[Rule, ...] = (_repeats, _parents, _cycles, _push, _registries, _one_writer, _users)
