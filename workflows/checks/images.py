"""Rules of images: what a child is built from, which digest stands for what was built, regions that agree.

Owns the builds of a job, from the command line of docker and the inputs of its action.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workflows.checks.plain import mapping, text
from workflows.checks.publishing import pushes
from workflows.checks.rule import Broken, Repository, WorkflowRule, broken
from workflows.checks.shell import Command
from workflows.checks.views import JobView, StepView

_LABS = re.compile(r"ghcr\.io|[\w-]+-docker\.pkg\.dev")
"""Registries to which a lab pushes; what comes from others is somebody else's image."""
_KEEPS_DIGEST = re.compile(
    r"outputs\.digest|--metadata-file|--iidfile|crane digest|imagetools inspect|RepoDigests|manifest inspect"
)
_AGREES = re.compile(
    r"(crane|gcrane|skopeo) (copy|cp|digest|manifest|inspect)|imagetools (create|inspect)|manifest inspect"
)
_MUTABLE = re.compile(r"latest|main|master|nightly|dev|stable|edge|\d{8}|.*(DATE|date|REF_NAME|ref_name|head_ref).*")
_REPOSITORY = re.compile(r"\$\{\{\s*github\.repository\s*\}\}|\$\{?GITHUB_REPOSITORY\}?", re.IGNORECASE)
_OWNER = re.compile(r"\$\{\{\s*github\.repository_owner\s*\}\}|\$\{?GITHUB_REPOSITORY_OWNER\}?", re.IGNORECASE)
_BUILD = re.compile(r"docker (buildx build|build|image build)\b")
_PUSH = re.compile(r"docker (image )?push\b")
_REFERENCE = re.compile(r"[\w.-]+\.[a-z]{2,}(:\d+)?/\S+")


def _parents(judged: Repository) -> Iterator[Broken]:
    every = tuple(each for job in judged.jobs() for each in builds(job, judged.known.repository))
    pushed = {without_tag(name) for each in every for name in each.pushed}
    known = pushed | {without_tag(base) for base in judged.known.bases}
    for each in every:
        for base in each.bases or judged.known.dockerfiles.get(each.dockerfile, ()):
            if not _LABS.fullmatch(host(base)) or "$" in without_tag(base):
                continue
            if without_tag(base) not in known:
                near = sorted(
                    name for name in pushed if name.rpartition("-")[2] == without_tag(base).rpartition("-")[2]
                )
                hint = f"; what is pushed is {', '.join(near)}" if near else ""
                reason = f"{each.dockerfile or 'the image'} is built FROM {base}, which no job pushes{hint}"
                yield broken(each.step, reason, line=each.line)
            elif late := _later(base, each, every):
                reason = f"{base} is pushed after this build, so that the one of an earlier run is its base: {late}"
                yield broken(each.step, reason, line=each.line)


def _later(base: str, build: Build, every: tuple[Build, ...]) -> str:
    same = [
        each for each in every if each.step.job == build.step.job and without_tag(base) in map(without_tag, each.pushed)
    ]
    after = [each for each in same if each.order > build.order]
    return after[0].dockerfile or "docker push" if after and len(after) == len(same) else ""


def _digests(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        kept = job.mentions(_KEEPS_DIGEST.pattern)
        for each in builds(job, judged.known.repository):
            moving = [name for name in each.pushed if _MUTABLE.fullmatch(tag(name) or "latest")]
            if moving and not kept:
                reason = f"{moving[0]} moves with the next push, and no digest of this one is kept"
                yield broken(each.step, reason, line=each.line)
        yield from _run_by_tag(job)


def _run_by_tag(job: JobView) -> Iterator[Broken]:
    beside = mapping(job.data.get("services"))
    places = {("container",): job.data.get("container"), **{("services", name): each for name, each in beside.items()}}
    for place, container in places.items():
        image = text(mapping(container).get("image")) if isinstance(container, dict) else text(container)
        if image and "@sha256:" not in image and "${{" not in image:
            reason = f"the job runs with {image}, which may be another image tomorrow"
            yield broken(job, reason, *place)
    for step in job.steps:
        if step.uses.startswith("docker://") and "@sha256:" not in step.uses:
            yield broken(step, f"{step.uses} may be another image tomorrow", "uses")
        for command in step.commands:
            if command.texts[:2] in {("docker", "run"), ("docker", "pull")}:
                for each in command.texts[2:]:
                    if host(each) and "@sha256:" not in each and tag(each) in {"", "latest"}:
                        reason = f"{each} may be another image tomorrow"
                        yield broken(step, reason, line=command.line)


def _regions(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        if job.mentions(_AGREES.pattern):
            continue
        places: dict[str, Build] = {}
        for each in builds(job, judged.known.repository):
            for name in each.pushed:
                if _LABS.fullmatch(host(name)):
                    places.setdefault(host(name), each)
        looped = [
            each for each in builds(job, judged.known.repository) if any(_by_region(name) for name in each.pushed)
        ]
        if len(places) > 1:
            first = next(iter(places.values()))
            reason = f"{len(places)} registries are pushed to one after the other, and a failure leaves them different"
            yield broken(first.step, reason, line=first.line)
        elif looped:
            reason = f"{looped[0].pushed[0]} is pushed region by region, and a failure leaves them different"
            yield broken(looped[0].step, reason, line=looped[0].line)


def _by_region(name: str) -> bool:
    return re.match(r"\$(\{\{.*?\}\}|[^\s/]*?)-?docker\.pkg\.dev/", name) is not None


@dataclass(frozen=True)
class Build:
    """One build, where it stands; `pushed` are references, empty where it pushes nothing."""

    step: StepView
    line: int | None
    order: int
    dockerfile: str
    bases: tuple[str, ...]
    """References that its arguments give, as `BASE_IMAGE=...`."""
    pushed: tuple[str, ...]


def builds(job: JobView, repository: str) -> tuple[Build, ...]:
    """Every build and push of a job in order; a name's `${{ github.repository }}` is filled in where it is known."""
    found: list[Build] = []
    for step in job.steps:
        order = step.index * 1000
        if step.action == "docker/build-push-action":
            tags = _lines(step.inputs.get("tags"), repository) if pushes(step) else ()
            arguments = _lines(step.inputs.get("build-args"), repository)
            dockerfile = text(step.inputs.get("file"))
            found.append(Build(step, None, order, dockerfile, tuple(_bases(arguments)), tags))
        for command in step.commands:
            order += 1
            if _BUILD.match(command.said):
                found.append(_build(step, order, command, repository))
            elif _PUSH.match(command.said):
                names = (named(command.texts[-1], repository),)
                found.append(Build(step, command.line, order, "", (), names))
    return tuple(found)


def _build(step: StepView, order: int, command: Command, repository: str) -> Build:
    pushing = any(each == "--push" or "push=true" in each for each in command.texts)
    tags = tuple(named(each, repository) for each in command.option("--tag", "-t")) if pushing else ()
    dockerfile = next(iter(command.option("--file", "-f")), "Dockerfile")
    arguments = tuple(named(each, repository) for each in command.option("--build-arg"))
    whole = f"{step.directory.rstrip('/')}/{dockerfile}" if step.directory else dockerfile
    return Build(step, command.line, order, whole, tuple(_bases(arguments)), tags)


def named(reference: str, repository: str) -> str:
    """A reference with the repository's name in it, as text."""
    if not repository:
        return reference.strip()
    owner = repository.partition("/")[0]
    return _OWNER.sub(owner, _REPOSITORY.sub(repository, reference)).strip()


def without_tag(reference: str) -> str:
    """The name of an image alone."""
    name = reference.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{re.sub(r':.*', '', last)}"


def tag(reference: str) -> str:
    return reference.rpartition("/")[2].partition(":")[2]


def host(reference: str) -> str:
    """The registry of a reference, empty for Docker Hub's."""
    first = reference.partition("/")[0]
    return first if "/" in reference and ("." in first or ":" in first) else ""


def _lines(value: object, repository: str) -> tuple[str, ...]:
    return tuple(named(each, repository) for each in re.split(r"[\n,]", text(value)) if each.strip())


def _bases(arguments: tuple[str, ...]) -> Iterator[str]:
    for argument in arguments:
        value = argument.partition("=")[2]
        if _REFERENCE.fullmatch(value):
            yield value


RULES = (
    WorkflowRule(
        "parent-is-pushed", _parents, "--build-arg BASE_IMAGE=NAME@DIGEST, of the parent that was just pushed"
    ),
    WorkflowRule(
        "digest-kept", _digests, "--metadata-file or the action's digest output, and NAME@DIGEST for whoever runs it"
    ),
    WorkflowRule(
        "regions-agree",
        _regions,
        "one push, crane copy NAME@DIGEST to each other region, crane digest in all, and then the tags",
    ),
)
