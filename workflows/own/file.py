"""What every module of this package is given and what it makes: one file, each job with the function that makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType

from workflows.builders import Job, Workflow
from workflows.spec import SpecLine
from workflows.world import World


@dataclass(frozen=True, slots=True)
class Surroundings:
    """stacks: their names in the order in which they are applied."""

    world: World
    stacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """sources: by job id, the function that makes the job."""

    workflow: Workflow
    sources: Mapping[str, SpecLine]


Maker = Callable[[Surroundings], Job]


def made(around: Surroundings, *makers: Maker) -> tuple[tuple[Job, ...], dict[str, SpecLine]]:
    """The jobs of a file, and where each is made."""
    jobs = tuple(maker(around) for maker in makers)
    return jobs, {job.id: line_of(maker) for job, maker in zip(jobs, makers, strict=True)}


def module_file(module: str) -> str:
    """The path of a module of this repository."""
    return f"{module.replace('.', '/')}.py"


def line_of(maker: Callable[..., Job]) -> SpecLine:
    """Where a function that makes a job stands."""
    if not isinstance(maker, FunctionType):
        raise TypeError(f"{maker} is no function of a module, so that it has no line")
    return SpecLine(module_file(maker.__module__), maker.__code__.co_firstlineno, maker.__name__)
