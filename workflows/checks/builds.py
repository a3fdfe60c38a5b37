"""The image builds of a job: from which Dockerfile, with which arguments, pushed under which names.

Owns the command line of docker and the inputs of its action. Leaves judging them to `workflows.checks.images`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workflows.checks.plain import text
from workflows.checks.publishing import pushes
from workflows.checks.shell import Command
from workflows.checks.views import Job
from workflows.document import Path

_REPOSITORY = re.compile(r"\$\{\{\s*github\.repository\s*\}\}|\$\{?GITHUB_REPOSITORY\}?", re.IGNORECASE)
_OWNER = re.compile(r"\$\{\{\s*github\.repository_owner\s*\}\}|\$\{?GITHUB_REPOSITORY_OWNER\}?", re.IGNORECASE)
_BUILD = re.compile(r"docker (buildx build|build|image build)\b")
_PUSH = re.compile(r"docker (image )?push\b")
_REFERENCE = re.compile(r"[\w.-]+\.[a-z]{2,}(:\d+)?/\S+")


@dataclass(frozen=True)
class Build:
    """One build, where it stands; `pushed` are references, empty where it pushes nothing."""

    job: Job
    path: Path
    line: int | None
    order: int
    dockerfile: str
    bases: tuple[str, ...]
    """References that its arguments give, as `BASE_IMAGE=...`."""
    pushed: tuple[str, ...]


def builds(job: Job, repository: str) -> tuple[Build, ...]:
    """Every build and push of a job in order; a name's `${{ github.repository }}` is filled in where it is known."""
    found: list[Build] = []
    for step in job.steps:
        order = step.index * 1000
        if step.action == "docker/build-push-action":
            tags = _lines(step.inputs.get("tags"), repository) if pushes(step) else ()
            arguments = _lines(step.inputs.get("build-args"), repository)
            dockerfile = text(step.inputs.get("file"))
            found.append(Build(job, step.path, None, order, dockerfile, tuple(_bases(arguments)), tags))
        for command in step.commands:
            order += 1
            path = (*step.path, "run")
            if _BUILD.match(command.said):
                found.append(_build(job, path, order, command, step.directory, repository))
            elif _PUSH.match(command.said):
                names = (named(command.texts[-1], repository),)
                found.append(Build(job, path, command.line, order, "", (), names))
    return tuple(found)


def _build(job: Job, path: Path, order: int, command: Command, directory: str, repository: str) -> Build:
    pushing = any(each == "--push" or "push=true" in each for each in command.texts)
    tags = tuple(named(each, repository) for each in command.option("--tag", "-t")) if pushing else ()
    dockerfile = next(iter(command.option("--file", "-f")), "Dockerfile")
    arguments = tuple(named(each, repository) for each in command.option("--build-arg"))
    whole = f"{directory.rstrip('/')}/{dockerfile}" if directory else dockerfile
    return Build(job, path, command.line, order, whole, tuple(_bases(arguments)), tags)


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
