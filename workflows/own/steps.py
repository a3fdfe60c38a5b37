"""Steps and conditions that more than one workflow of this repository has, and no other repository's.

Owns what they say. Leaves the pins to the table of actions, and which job has them to the job's module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Final

from workflows import steps
from workflows.builders import Expression, Job, Step, Template, Workflow, context, not_cancelled, template
from workflows.spec import SpecLine
from workflows.world import World

PULUMI: Final = "3.259.0"
"""The release of Pulumi's CLI: https://github.com/pulumi/pulumi/releases/tag/v3.259.0 (read 2026-11-21)."""
ENGINE: Final = "--engine pulumi --cloud google --yes"
PROGRAM: Final = ("Pulumi.yaml", "images/**", "infra/**", "requirements.lock", "stacks/**")
"""What decides what an apply does: the stacks and images as data, the program, and what it runs on."""
REVIEWED: Final = (*PROGRAM, "workflows/**", ".github/workflows/**")
"""What a pull request is previewed for."""

STATE: Final = {"PULUMI_BACKEND_URL": context("vars.PULUMI_BACKEND_URL")}
TOKEN: Final = context("github.token")
PREVIEWER: Final = context("vars.TIDEPOOL_PREVIEWER")
DEPLOYER: Final = context("vars.TIDEPOOL_DEPLOYER")


def is_set_up() -> Expression:
    """Holds once an administrator has named the identity provider."""
    return context(steps.PROVIDER).differs("")


def with_parents(world: World) -> Step:
    """The repository at the commit of the event, and that commit's parents."""
    step = steps.checkout(world)
    return replace(step, inputs={"fetch-depth": 2, **step.inputs})


def pulumi_cli(world: World) -> Step:
    """Installs the CLI alone."""
    return Step(uses=world.actions.uses("pulumi/actions"), inputs={"pulumi-version": PULUMI})


def kept(world: World, name: str | Template, path: str, *, days: int, also_after: str = "") -> Step:
    """Keeps what lies at a path of the runner's folder; `also_after` says of which failure it is kept, too."""
    return Step(
        uses=world.actions.uses("actions/upload-artifact"),
        condition=not_cancelled() if also_after else None,
        inputs={"name": name, "path": in_temp(path), "if-no-files-found": "error", "retention-days": days},
        why=also_after,
    )


def fetched(
    world: World,
    name: str | Template,
    path: str,
    *,
    run: Expression | None = None,
    condition: Expression | None = None,
) -> Step:
    """Puts an artifact of this run, or of another of this repository, into a folder below the runner's."""
    other = {"run-id": run, "github-token": TOKEN} if run else {}
    return Step(
        uses=world.actions.uses("actions/download-artifact"),
        condition=condition,
        inputs={"name": name, "path": in_temp(path), **other},
    )


def set_up_without_token(command: str) -> Step:
    """The first call installs the tool; only the next one gets to see a token."""
    return Step(name="Set up without the token", run=f"./tidepool {command} --help >/dev/null", timeout_minutes=5)


def in_temp(path: str) -> Template:
    return template(context("runner.temp"), f"/{path}")


def script(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def each_stack(stacks: Sequence[str], *lines: str) -> tuple[str, ...]:
    """Lines that run for every stack in its turn, as `$stack`."""
    return (f"for stack in {' '.join(stacks)}; do", *(f"  {line}" for line in lines), "done")


def previewed(*options: str) -> str:
    """The start of a line that asks the engine what one stack's apply would do."""
    return " ".join(('./tidepool preview "$stack"', *options, ENGINE))


@dataclass(frozen=True, slots=True)
class OrderedWorld:
    """stacks: their names in the order in which they are applied."""

    world: World
    stacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """sources: by job id, the function that makes the job."""

    workflow: Workflow
    sources: Mapping[str, SpecLine]


Maker = Callable[[OrderedWorld], Job]


def made(around: OrderedWorld, *makers: Maker) -> tuple[tuple[Job, ...], dict[str, SpecLine]]:
    """The jobs of a file, and where each is made."""
    jobs = tuple(maker(around) for maker in makers)
    return jobs, {job.id: line_of(maker) for job, maker in zip(jobs, makers, strict=True)}


def module_file(module: str) -> str:
    """The path of a module of this repository."""
    return f"{module.replace('.', '/')}.py"


def line_of(maker: Callable[..., Job]) -> SpecLine:
    """Where a function that makes a job stands."""
    if not isinstance(maker, FunctionType):
        raise TypeError(f"{maker} is not a function of a module, so it has no line")
    return SpecLine(module_file(maker.__module__), maker.__code__.co_firstlineno, maker.__name__)
