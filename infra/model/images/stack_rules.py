"""Rules between `images/images.yaml` and the stacks that it names. Each yields every Problem it finds.

Owns places, retention, who builds and who uses, and whether sources are connected. Does not own rules of the file by
itself (rules).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from infra.model.catalogue import region_of
from infra.model.errors import Problem, shown, suggestion
from infra.model.fields.images import MAX_BUILD_SECONDS
from infra.model.images.places import places, regions
from infra.model.images.rebuilds import trigger_files
from infra.model.images.rules import JudgedImage, Rule
from infra.model.images.spec import Builder, Image, ImageSpec, descendants
from infra.model.images.steps import MINUTE, step_limits
from infra.model.names import IN_USE_PREFIX
from infra.model.schema import Builds, Cleanup, Repository, StackConfig

ROLES = ("broker", "controller")
"""The stack's own identities that run an image of ours; the builder runs what it builds with, which is pinned."""


def broken(judged: JudgedImage) -> list[Problem]:
    """Every problem of every rule."""
    return list(chain.from_iterable(rule(judged) for rule in _RULES))


def _registries(judged: JudgedImage) -> Iterator[Problem]:
    for index, image in judged.images:
        registry = image.push.artifact_registry
        if registry is None:
            if image.retention is not None and image.push.ghcr is not None:
                rule = "nothing deletes from GHCR by itself"
                yield Problem(judged.at(index, "retention"), image.push.ghcr, rule, "remove retention")
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
                    yield Problem(where, shown(region), "the region is listed twice", "remove one of the two")
            if registry.regions == ():
                where = judged.at(index, *at, "regions")
                yield Problem(
                    where, "[]", "the image is pushed to no region", "regions of the stack, or no line for all of them"
                )
            repository = _repository(image, stack)
            if repository is None:
                names = [each.name for each in stack.registries.repositories]
                rule, fix = f"stack {stack.stack} has no such repository", f"one of {', '.join(names)}"
                yield Problem(judged.at(index, *at, "repository"), shown(registry.repository), rule, fix)
            else:
                yield from _cleanup(judged, index, image, repository)
            if image.builder is Builder.CLOUDBUILD:
                yield from _built_there(judged, index, image, stack)


def _built_there(judged: JudgedImage, index: int, image: Image, stack: StackConfig) -> Iterator[Problem]:
    """The stack whose registries an image goes to builds it, from repositories that it is connected to."""
    if stack.builds is None:
        rule = f"stack {stack.stack} has no tidepool:builds, so it cannot build the image"
        yield Problem(
            judged.at(index, "builder"), image.builder, rule, "tidepool:builds in the stack, or builder: github"
        )
        return
    yield from _long_enough(judged, index, image, stack)
    connected = {connection.repository.lower() for connection in stack.builds.connections}
    for repository in dict.fromkeys((image.context.repository, judged.recipes or image.context.repository)):
        if repository.lower() not in connected:
            rule = f"stack {stack.stack} has no connection to the repository that the build reads"
            fix = f"- repository: {repository} below tidepool:builds connections in the stack"
            yield Problem(judged.at(index, "context", "repository"), shown(repository), rule, fix)


def _long_enough(judged: JudgedImage, index: int, image: Image, stack: StackConfig) -> Iterator[Problem]:
    """A build is given the time that its steps may take where they have a limit: Google refuses its trigger else."""
    made = descendants([each for _, each in judged.images], image.name)
    given, needed = stack.builds.timeout if stack.builds else 0, step_limits(made)
    if needed > given:
        rule = (
            f"a build may take what the limits of its steps add up to, {needed // MINUTE} minutes for the {len(made)} "
            f"images of this one; stack {stack.stack} gives it {given // MINUTE}"
        )
        fix = f"timeout: {needed // MINUTE}m or more below tidepool:builds of the stack"
        if needed > MAX_BUILD_SECONDS:
            fix = f"fewer images in one build, which ends after {MAX_BUILD_SECONDS // MINUTE} minutes: another parent"
        yield Problem(judged.at(index), image.name, rule, fix)


def _repository(image: Image, stack: StackConfig) -> Repository | None:
    registry = image.push.artifact_registry
    repositories = stack.registries.repositories if stack.registries is not None else ()
    return next((each for each in repositories if registry is not None and each.name == registry.repository), None)


def _cleanup(judged: JudgedImage, index: int, image: Image, repository: Repository) -> Iterator[Problem]:
    """What the repository forgets is said in the stack, and what the image says of it must be that."""
    cleanup = repository.cleanup or Cleanup.model_construct(delete_older_than="never", keep_newest=None)
    if image.retention is None:
        said = f"{{delete_older_than: {cleanup.delete_older_than}, keep_newest: {cleanup.keep_newest}}}"
        rule = "nothing says what Artifact Registry forgets of the image"
        yield Problem(judged.at(index, "retention"), "", rule, f"retention: {said}")
        return
    for key in ("delete_older_than", "keep_newest"):
        said, done = getattr(image.retention, key), getattr(cleanup, key)
        if said != done:
            rule = f"the repository {repository.name} has {key}: {done if done is not None else 'nothing'}"
            yield Problem(judged.at(index, "retention", key), shown(said), rule, "the same in both files")
    kept = tuple(cleanup.keep_tag_prefixes)
    if (image.used_by.pools or image.used_by.roles) and IN_USE_PREFIX not in kept and repository.cleanup is not None:
        rule = f"the repository {repository.name} would delete what runs: it keeps no {IN_USE_PREFIX}"
        yield Problem(judged.at(index, "used_by"), "", rule, f"keep_tag_prefixes: [{IN_USE_PREFIX}] in the stack")
    for number, tag in enumerate(image.tags):
        if any(tag.startswith(prefix) for prefix in kept):
            rule = f"tags that start with {', '.join(kept)} keep a digest for ever; promotion alone gives them"
            yield Problem(judged.at(index, "tags", number), shown(tag), rule, "another tag")


def _public_sources(judged: JudgedImage) -> Iterator[Problem]:
    """The token to read a private repository is the connection's, which jobs of GitHub do not act through."""
    private = {
        connection.repository.lower(): stack.stack
        for stack in judged.around.stacks.values()
        for connection in (stack.builds.connections if stack.builds else ())
        if connection.private
    }
    for index, image in judged.images:
        for repository in dict.fromkeys((image.context.repository, judged.recipes or image.context.repository)):
            if image.builder is Builder.GITHUB and repository.lower() in private:
                rule = (
                    f"GitHub's jobs cannot fetch it: stack {private[repository.lower()]} says the repository is private"
                )
                fix = "builder: cloudbuild, which has the connection's token to read it"
                yield Problem(judged.at(index, "builder"), shown(repository), rule, fix)


def _one_writer(judged: JudgedImage) -> Iterator[Problem]:
    owner: dict[str, str] = {}
    for index, image in judged.images:
        if not _can_be_placed(image, judged.around.stacks):
            continue
        for place in places(image, judged.around.stacks):
            if owner.setdefault(place, image.name) != image.name:
                rule = f"{owner[place]} goes to this place already"
                yield Problem(judged.at(index, "push"), place, rule, "another place for one of the two")


def _can_be_placed(image: Image, stacks: Iterable[str]) -> bool:
    registry = image.push.artifact_registry
    return registry is None or registry.stack in stacks


def _users(judged: JudgedImage) -> Iterator[Problem]:
    parents = {parent for _, image in judged.images for parent in image.parents}
    for index, image in judged.images:
        used = image.used_by
        if not (used.pools or used.roles or used.workflows or used.outside or image.name in parents):
            rule = "nothing uses the image: no pool, role, workflow, image built from it, or anybody outside"
            yield Problem(judged.at(index, "used_by"), "", rule, "who runs it, or remove the image")
        yield from _promotable(judged, index, image)
        if used.stack is None and (used.pools or used.roles):
            where = judged.at(index, "used_by")
            yield Problem(where, "", "pools and roles are named without their stack", "stack: NAME beside them")
        elif used.stack is not None:
            yield from _users_of_stack(judged, index, image, used.stack)


def _promotable(judged: JudgedImage, index: int, image: Image) -> Iterator[Problem]:
    """VMs pull from the repository of their own region, and a digest that is in use is kept there by its tag."""
    registry, users = image.push.artifact_registry, (*image.used_by.pools, *image.used_by.roles)
    if not users:
        return
    if registry is None:
        rule = f"pools and roles read Artifact Registry alone, and {image.name} goes to {image.push.ghcr}"
        fix = "push.artifact_registry, or in place of pools used_by: {outside: who pulls it by name}"
        yield Problem(judged.at(index, "used_by"), ", ".join(users), rule, fix)
        return
    owner, stack = (judged.around.stacks.get(name or "") for name in (registry.stack, image.used_by.stack))
    if owner is None or stack is None or owner.registries is None:
        return
    there = set(regions(image, owner))
    for number, name in enumerate(image.used_by.pools):
        pool = next((each for each in stack.pools if each.name == name), None)
        missing = sorted({region_of(zone) for zone in pool.reach} - there) if pool else []
        if missing:
            rule = f"pool {name} has VMs in {', '.join(missing)}, where no repository has {image.name}"
            fix = "these regions below push.artifact_registry.regions, or no such line"
            yield Problem(judged.at(index, "used_by", "pools", number), shown(name), rule, fix)


def _users_of_stack(judged: JudgedImage, index: int, image: Image, name: str) -> Iterator[Problem]:
    stack = judged.around.stacks.get(name)
    if stack is None:
        yield _unknown_stack(name, judged.at(index, "used_by", "stack"), judged.around.stacks)
        return
    known = {"pools": tuple(pool.name for pool in stack.pools), "roles": ROLES}
    for key, names in known.items():
        for number, user in enumerate(getattr(image.used_by, key)):
            if user not in names:
                fix = suggestion(user, names, "another stack")
                rule = f"stack {name} has no such pool" if key == "pools" else "not a role that runs an image"
                yield Problem(judged.at(index, "used_by", key, number), shown(user), rule, fix)


def _unknown_stack(name: str, where: str, stacks: Iterable[str]) -> Problem:
    fix = suggestion(name, sorted(stacks), f"a file stacks/Pulumi.{name}.yaml")
    return Problem(where, shown(name), "no stack file has this name", fix)


_RULES: tuple[Rule, ...] = (_registries, _public_sources, _one_writer, _users)


CONNECT: Final = "docs/first-deploy.md#6-connect-github-to-cloud-build"
"""Where a person reads how a repository is connected."""


def push_sources(spec: ImageSpec, image: Image) -> Mapping[str, tuple[str, ...]]:
    """Each repository whose pushes start a build of the image by itself, with the files that count."""
    if not image.when.push:
        return {}
    files = {each: trigger_files(spec, image, each) for each in (image.context.repository, spec.recipes)}
    return {repository: included for repository, included in files.items() if included}


def unconnected(spec: ImageSpec, image: Image, builds: Builds) -> tuple[str, ...]:
    """The repositories whose pushes would start a build of the image in Cloud Build, and cannot yet."""
    if image.builder is not Builder.CLOUDBUILD:
        return ()
    connected = {each.repository for each in builds.connections if each.access}
    return tuple(each for each in push_sources(spec, image) if each not in connected)
