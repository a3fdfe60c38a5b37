"""What a name means: first by the stack files, then by who else may know it.

Owns the second: runs by the records of their days, VMs of others by the zones, jobs of workflows by GitHub, training
jobs by their backend. Whoever does not answer is said, and hides nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from infra.fleet.controller.github import GitHubError
from infra.fleet.github_lists import RunningJob
from infra.fleet.google import GoogleError
from infra.fleet.status.look import Scene
from infra.model.errors import ConfigError, OutsideError
from infra.model.schema import StackConfig
from infra.operations.declared.known import Named
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import Fleet, fleets_declared, open_fleet
from infra.operations.fleet.subjects import (
    Subject,
    declared_subjects,
    not_found,
    readable_configs,
    the_one,
)
from infra.operations.jobs import JobBackend, open_jobs
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.why.runs import RunSeen, find_run

KINDS = tuple(kind for kind in Named if kind is not Named.STACK)


@dataclass(frozen=True)
class Asked:
    """A name, and what was heard of it so far. stack: of that one alone. silent: who did not answer, as sentences."""

    name: str
    kinds: Collection[Named]
    stack: str | None = None
    cloud: CloudName | None = None
    teller: Teller = SILENT
    silent: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, stack: str | None, cloud: CloudName | None, teller: Teller) -> Asked:
        """A name alone, or behind what it is: `pool/tpu-ci`."""
        kind, slash, name = text.partition("/")
        if slash and kind in KINDS and name:
            return cls(name, (Named(kind),), stack, cloud, teller)
        return cls(text, KINDS, stack, cloud, teller)

    @cached_property
    def configs(self) -> list[StackConfig]:
        return readable_configs(self.stack)

    def subject(self) -> Subject:
        """The one thing that it names. Refusal where it names none, or several."""
        found = declared_subjects(self.name, self.kinds, self.configs) or tuple(sorted(self._elsewhere()))
        if found:
            return the_one(self.name, found)
        said = not_found(self.name, self.kinds, self.configs)
        more = "; no run, no job and no other VM in their zones has the name" if len(self.kinds) > 1 else ""
        raise Refusal("; ".join([f"{said}{more}", *self._looked(), *dict.fromkeys(self.silent)]))

    @cached_property
    def fleets(self) -> tuple[tuple[Fleet, Scene], ...]:
        """Every fleet that answers, looked at with the jobs that wait for it."""
        found = []
        for stack in fleets_declared(self.stack):
            try:
                fleet = open_fleet(stack, self.cloud, self.teller)
                scene = fleet.look(with_jobs=True)
            except (ConfigError, GoogleError) as error:
                self.silent.append(f"{stack}: {error}")
                continue
            if scene.observed is None:
                self.silent.extend(f"{stack}: {problem}" for problem in scene.problems)
            self.silent.extend(f"{repository}: {why}" for repository, why in scene.jobs.unknown.items())
            found.append((fleet, scene))
        return tuple(found)

    @cached_property
    def running(self) -> tuple[tuple[str, RunningJob], ...]:
        """Jobs of that name that a runner has, each with the stack whose repositories it is one of."""
        found = []
        for fleet, _ in self.fleets:
            serves = sorted({each for pool in fleet.config.pools for each in pool.serves})
            try:
                jobs = fleet.place.github.running(serves)
            except GitHubError as error:
                self.silent.append(f"{fleet.stack}: {error}")
                continue
            found += [(fleet.stack, job) for job in jobs if job.name == self.name]
        return tuple(found)

    @cached_property
    def run(self) -> RunSeen | None:
        for config in self.configs:
            try:
                found = find_run(self.name, config, self.cloud, self.teller)
            except (GoogleError, ValueError) as error:
                self.silent.append(f"records of runs of {config.stack}: {error}")
                continue
            if found:
                return found
        return None

    @cached_property
    def jobs(self) -> JobBackend:
        """Where training jobs go from here."""
        return open_jobs()

    def _elsewhere(self) -> Iterator[Subject]:
        ways: dict[Named, Callable[[], tuple[str, ...]]] = {
            Named.RUN: lambda: (self.run.stack,) if self.run else (),
            Named.VM: lambda: tuple(fleet.stack for fleet, scene in self.fleets if self._seen(scene))[:1],
            Named.JOB: self._with_job,
            Named.TRAINING: self._trained,
        }
        for kind, way in ways.items():
            if kind in self.kinds and (stacks := way()):
                yield Subject(kind, self.name, stacks)

    def _seen(self, scene: Scene) -> bool:
        return scene.observed is not None and bool(scene.observed.nodes_of(self.name))

    def _with_job(self) -> tuple[str, ...]:
        waiting = [fleet.stack for fleet, scene in self.fleets if any(j.name == self.name for j in scene.jobs.jobs)]
        return ("",) if waiting or self.running else ()

    def _looked(self) -> Iterator[str]:
        """Where training jobs were looked for, where that was possible."""
        with suppress(ConfigError, Failure, OutsideError):
            if Named.TRAINING in self.kinds:
                yield self.jobs.looked

    def _trained(self) -> tuple[str, ...]:
        try:
            return ("",) if any(each.name == self.name for each in self.jobs.states()) else ()
        except (ConfigError, Failure, OutsideError) as error:
            self.silent.append(f"training jobs: {error}")
            return ()
