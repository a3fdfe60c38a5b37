"""Preparing a Google Cloud project, once, for its first deploy: what is lacking, and making it.

Nothing is deleted. What the project needs is `infra.fleet.bootstrap`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

from infra.fleet.bootstrap import actions, next_commands, pin_commands, plan
from infra.fleet.bootstrap_calls import BootstrapProject
from infra.fleet.bootstrap_steps import BootstrapStep, Wanted
from infra.fleet.google import GoogleError, clients
from infra.model import names
from infra.model.errors import ConfigError, Problem
from infra.model.json_shape import JsonShape
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.operations.errors import Failure
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.session import cloud_without_engine, reached
from infra.operations.workspace import workspace
from infra.preview.toned import Tone, TonedLine, toned

__all__ = ("BootstrapStep",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap(JsonShape):
    """What a project needs. steps: one each, with its action where it lacks it. endpoint: None on Google.

    pins: what pins a repository that is let in by its name alone. next: the commands that follow, in this checkout.
    """

    JSON = (
        *("wanted.project", "cloud", "wanted.bucket", "wanted.key"),
        *("account=wanted.deployer", "steps", "next", "pins"),
    )

    wanted: Wanted
    cloud: CloudName
    endpoint: str | None
    steps: tuple[BootstrapStep, ...]
    pins: tuple[str, ...]
    next: tuple[str, ...]

    @property
    def lacking(self) -> int:
        return len(actions(self.steps))


def plan_bootstrap(
    stack: str,
    *,
    project: str | None = None,
    location: str | None = None,
    bucket: str | None = None,
    impersonators: tuple[str, ...] = (),
    cloud: CloudName | None = None,
    teller: Teller = SILENT,
) -> Bootstrap:
    """Look at the project of a stack. ConfigError where `project` is given and is another. Changes nothing.

    location: of state bucket and key, else where the fleet bucket is. bucket: of the state. impersonators: who may act
    as the deploying account.
    """
    config = load_stack(workspace().root, stack)
    _require_same(stack, config, project)
    wanted = Wanted(
        project=config.project,
        location=location or config.bucket.location,
        bucket=bucket or f"{config.project}-pulumi-state",
        fleet_buckets=_fleet_buckets(config.project),
        impersonators=impersonators,
    )
    where = cloud_without_engine(cloud).cloud
    teller.works_on(where, f"project {config.project} on {where.value} cloud")
    endpoint = reached(where, teller)
    with _refusing(), clients(config.project, endpoint) as google:
        steps = plan(BootstrapProject(google=google, wanted=wanted).observe(), wanted)
    return Bootstrap(
        wanted=wanted,
        cloud=where,
        endpoint=endpoint,
        steps=steps,
        pins=pin_commands(config),
        next=next_commands(wanted, stack),
    )


def apply_bootstrap(planned: Bootstrap) -> Iterator[BootstrapStep]:
    """Make what is lacking, one step after the other; each that is made."""
    with _refusing(), clients(planned.wanted.project, planned.endpoint) as google:
        there = BootstrapProject(google=google, wanted=planned.wanted)
        for step in planned.steps:
            if step.action is not None:
                there.apply(step.action)
                yield step


def plan_lines(planned: Bootstrap) -> Iterator[TonedLine]:
    """The plan for people: what is there, what is made, and how many of each."""
    for step in planned.steps:
        sign, tone = ("=", Tone.QUIET) if step.action is None else ("+", Tone.GOOD)
        yield toned((f"{sign} {step.what}", tone), (f"  ({step.why})", Tone.QUIET))
    made = planned.lacking
    yield toned((f"{made} to make, {len(planned.steps) - made} there already", Tone.HEADING))


@contextmanager
def _refusing() -> Generator[None]:
    try:
        yield
    except GoogleError as error:
        raise Failure(f"{error}\nRun the same command again: it goes on where it stopped.") from None


def _require_same(stack: str, config: StackConfig, project: str | None) -> None:
    if project is not None and project != config.project:
        subject = f"--project, and gcp:project in stacks/Pulumi.{stack}.yaml"
        rule = f"are not the same: the stack file says {config.project}"
        raise ConfigError(
            [Problem(subject, project, rule, f"{config.project}, or {project} as gcp:project in the file")]
        )


def _fleet_buckets(project: str) -> tuple[str, ...]:
    """The buckets of every stack of the project, which one deploying account serves: fleet records and build logs."""
    root = workspace().root
    stacks = (load_stack(root, name) for name in stack_names(root))
    return tuple(sorted(chain.from_iterable(_buckets(each) for each in stacks if each.project == project)))


def _buckets(config: StackConfig) -> Iterator[str]:
    yield config.bucket.name
    if config.builds is not None:
        yield names.build_log_bucket(config.bucket.name)
