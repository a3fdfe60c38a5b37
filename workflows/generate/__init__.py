"""Workflow files from a specification and the fleet: pure, so that equal inputs give equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from infra.model.errors import ConfigError, Problem
from workflows.composite import FOLDER, Generated
from workflows.generate import images, package_results, runs, tests, tiers
from workflows.spec import Spec, SpecLine
from workflows.world import World

__all__ = ["FOLDER", "Generated", "SpecLine", "generate"]

SECTIONS: Final[tuple[Callable[[Spec, World], Iterable[Generated]], ...]] = (
    tests.files,
    package_results.files,
    images.files,
    runs.files,
    tests.published,
    tiers.files,
)
"""What makes the files of each section of a specification."""


def generate(spec: Spec, world: World) -> tuple[Generated, ...]:
    """Every file of the specification, by path; ConfigError with what no file can be made of."""
    found: list[Generated] = []
    problems: list[Problem] = []
    for section in SECTIONS:
        try:
            found += section(spec, world)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return tuple(sorted(found, key=lambda each: each.path))
