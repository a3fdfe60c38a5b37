"""Whether what a specification names is in its repository: folders and tests, path filters, packages, extras, groups.

Owns the judgement over a list of files and the projects among them. Leaves reading a checkout to `infra.cli.workflows`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from infra.model.errors import ConfigError, Problem
from workflows.composite import FOLDER
from workflows.spec import Spec, SpecLine
from workflows.spec.model import Suite
from workflows.triggering import included

PROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Project:
    """One package of the repository: the extras and groups that its pyproject.toml declares."""

    path: str
    extras: frozenset[str]
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class Checkout:
    """files: their paths from the top. projects: by name."""

    files: frozenset[str]
    projects: Mapping[str, Project]

    def has(self, path: str) -> bool:
        """Whether a file or a folder is there."""
        return path == "." or path in self.files or any(file.startswith(f"{path}/") for file in self.files)


def project(path: str, text: str) -> tuple[str, Project] | None:
    """A package by its normalised name, None of a pyproject.toml without one; ConfigError where it cannot be read."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem(path, "", f"it is no TOML: {error}", "what uv can read")]) from None
    about: Mapping[str, Any] = data.get("project", {})
    if not isinstance(about.get("name"), str):
        return None
    groups = {*data.get("dependency-groups", {}), *data.get("tool", {}).get("uv", {}).get("dev-dependencies", ())}
    return _normal(about["name"]), Project(path, _names(about.get("optional-dependencies", {})), _names(groups))


def missing(spec: Spec, there: Checkout) -> Iterator[Problem]:
    """Everything that a specification names and the repository has not, each with the line that names it."""
    for index, tests in enumerate(spec.declared.tests):
        own = f"{FOLDER}/{tests.file}"
        for place, pattern in enumerate(tests.paths):
            line = spec.line("tests", index, "paths", place)
            if not pattern.startswith("!") and not any(included(file, [pattern]) for file in (*there.files, own)):
                yield _gone(line, pattern, "no file matches it, so that it starts nothing", "a path that is there")
        for place, suite in enumerate(tests.suites):
            yield from _suite(spec, suite, there, ("tests", index, "suites", place))
    for index, run in enumerate(spec.declared.runs):
        yield from _package(spec.line("runs", index, "package"), run.package, there)
        if not there.has(run.folder):
            yield _gone(spec.line("runs", index), run.folder, "the folder is not there", "a folder of the repository")
    for index, publish in enumerate(spec.declared.publish):
        yield from _package(spec.line("publish", index, "package"), publish.package, there)


def _suite(spec: Spec, suite: Suite, there: Checkout, at: tuple[str | int, ...]) -> Iterator[Problem]:
    for path in suite.tests:
        whole = str(PurePosixPath(suite.folder, path))
        if not there.has(whole):
            yield _gone(spec.line(*at, "tests"), whole, "pytest finds nothing there", "a path that is there")
    yield from _package(spec.line(*at, "package"), suite.package, there)
    found = there.projects.get(_normal(suite.package))
    if found is None:
        return
    for kind, named, known in (("extras", suite.extras, found.extras), ("groups", suite.groups, found.groups)):
        for name in named:
            if _normal(name) not in known:
                rule = f"{found.path} declares no such {kind.removesuffix('s')}"
                yield _gone(spec.line(*at, kind), name, rule, ", ".join(sorted(known)) or f"no {kind}")


def _package(line: SpecLine, name: str, there: Checkout) -> Iterator[Problem]:
    if _normal(name) not in there.projects:
        yield _gone(line, name, f"no {PROJECT} of the repository has this name", ", ".join(sorted(there.projects)))


def _gone(line: SpecLine, value: str, rule: str, fix: str) -> Problem:
    return Problem(str(line), value, rule, fix)


def _names(found: Collection[str]) -> frozenset[str]:
    return frozenset(map(_normal, found))


def _normal(name: str) -> str:
    """Names as packaging compares them: https://packaging.python.org/en/latest/specifications/name-normalization/."""
    return name.lower().replace("_", "-").replace(".", "-")
