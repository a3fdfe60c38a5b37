"""What does not fit between workflows and fleet, as a value, and what nobody claims: workflows and pools.

Owns that a checkout's stacks answer for the workflows of their own owners alone: specifications come with the project,
and a lab that runs its first fleet has none of their repositories. Does not own what a job asks for (`fit`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from infra.model.demand import WRITE, Demand
from infra.model.offers import Offer


class MisfitKind(StrEnum):
    """What a misfit is about; the id of the rule that tells it."""

    RUNNER = "job-finds-runner"
    IMAGE = "job-finds-image"
    LIMIT = "job-ends-in-time"
    WAIT = "job-waits"
    USER = "pool-has-user"


@dataclass(frozen=True, slots=True, order=True)
class Misfit:
    """What does not fit. subject: the job, or the pool. stacks: in whose files it can be mended, sorted."""

    kind: MisfitKind
    subject: str
    reason: str
    fix: str
    stops: bool = True
    stacks: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason} [{self.kind}]\n  write: {self.fix}"


_PAGE: Final = "docs/next-lab.md"


def strangers(demands: Collection[Demand], stacks: Collection[str]) -> Iterator[Misfit]:
    """One warning a repository. demands: those of owners that no stack names."""
    for repository in sorted({each.repository for each in demands}):
        asking = [each for each in demands if each.repository == repository]
        reason = (
            f"{_jobs(len({each.subject for each in asking}))} of its workflows ask for this fleet, and no stack names "
            f"a repository of {repository.partition('/')[0]}: nobody looks whether a runner would take them"
        )
        made_from = " and ".join(sorted({each.source or each.file for each in asking}))
        fix = f"serves: [{repository}] in a pool; where it is another lab's, remove {made_from}, then {WRITE}: {_PAGE}"
        yield Misfit(MisfitKind.RUNNER, repository, reason, fix, stops=False, stacks=tuple(sorted(stacks)))


def idle(pools: Collection[Offer], used: Collection[str], demands: Collection[Demand]) -> Iterator[Misfit]:
    """One warning a pool that is not among those used."""
    asking = {each.repository.lower() for each in demands}
    for pool in pools:
        if pool.pool in used:
            continue
        if not pool.runs_jobs:
            reason = f"it serves no repository, and no workflow makes a VM as it says (stack {pool.stack})"
            fix = f"serves: [OWNER/NAME], a run of workflows/spec with vm: {pool.pool}, or no such pool"
        elif pool.serves & asking:
            reason = f"no job of any workflow asks for it ({_vms(pool.vms)} of stack {pool.stack})"
            fix = f"a suite of workflows/spec with where: [{pool.pool}], or no such pool"
        else:
            served = ", ".join(sorted(pool.serves))
            vms = f"{_vms(pool.vms)} of stack {pool.stack}"
            reason = f"no specification is of {served}, so nobody knows whether a job asks for it ({vms})"
            fix = f"workflows/spec/NAME.yaml with the repository, generated or kept workflows: {_PAGE}"
        yield Misfit(MisfitKind.USER, pool.subject, reason, fix, stops=False, stacks=(pool.stack,))


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"


def _vms(count: int) -> str:
    return "1 VM" if count == 1 else f"{count} VMs"
