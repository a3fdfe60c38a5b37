"""A specification that its rules judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from infra.model.errors import Problem
from infra.model.refusals import Subject
from infra.model.yamlfile import YamlPath
from workflows.spec.model import Declared, Suite
from workflows.world import World


@dataclass(frozen=True, slots=True)
class SpecInWorld:
    """A specification that is right value by value, what it is judged beside, and where its parts stand for people."""

    declared: Declared
    world: World
    subject: Subject

    def problem(self, path: YamlPath, value: str, rule: str, fix: str) -> Problem:
        return Problem(self.subject(path), value, rule, fix)

    def suites(self) -> Iterator[tuple[YamlPath, Suite]]:
        """Every suite of every file, with its place."""
        for index, tests in enumerate(self.declared.tests):
            yield from ((("tests", index, "suites", place), suite) for place, suite in enumerate(tests.suites))
