"""Whether the fleet can give what workflows ask of it, and whether anybody asks for what it has.

Owns what a job asks and does not get, in words that are the same wherever they are told: by `explain`, by `./tidepool
workflows --check`, and by the rules. Does not own what is asked (demand), what is offered (offers), how long a wait is
(waits), nor what nobody claims (unclaimed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from infra.model.demand import Code, Demand, Demands, ImageUse
from infra.model.errors import nearest
from infra.model.fields.fleet import is_github_own_label
from infra.model.offers import RUNNERS_OWN, Offer, Offers, absent_labels, owners
from infra.model.run_labels import HOSTED
from infra.model.schema import StackConfig, Trust
from infra.model.unclaimed import Misfit, MisfitKind, idle, strangers
from infra.model.waits import Wait, minutes, waits

LONGEST_HOSTED: Final = 360
"""Minutes: https://docs.github.com/en/github-ae@latest/actions/reference/usage-limits-billing-and-administration."""
LONGEST_OURS: Final = 5 * 24 * 60
"""Minutes that a job may take on a runner of one's own.

https://docs.github.com/en/enterprise-server@3.14/actions/reference/usage-limits-for-self-hosted-runners (2026-11-21)
"""
LONGEST_PREEMPTIBLE: Final = 24 * 60
"""Minutes that a preemptible TPU VM lives: https://cloud.google.com/tpu/docs/preemptible (read 2026-11-21)."""
LONGEST_QUEUED: Final = 24 * 60
"""Minutes after which GitHub cancels a job that no runner took, by the page on runners of one's own."""
PATIENCE: Final = 60
"""Minutes that the last leg of a pull request may wait without a word here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """demands: those of owners whom the stacks name; strangers: of all others.

    promoted: the image of each pool, where the record of images was read.
    """

    stacks: Mapping[str, StackConfig]
    offers: Offers
    demands: Demands
    strangers: tuple[Demand, ...]
    promoted: Mapping[str, str]

    def image(self, name: str) -> ImageUse | None:
        return next((each for each in self.demands.images if each.name == name), None)

    def images_of(self, pool: str) -> tuple[str, ...]:
        """The images that a pool may run, or the one that it was given."""
        if pool in self.promoted:
            return (self.promoted[pool],)
        return tuple(each.name for each in self.demands.images if pool in each.pools)


def misfits(
    stacks: Sequence[StackConfig], demands: Demands, *, promoted: Mapping[str, str] | None = None
) -> tuple[Misfit, ...]:
    """Everything that does not fit between all stacks and all workflows, sorted.

    stacks: all that there are, for a job may run on the pool of any. promoted: pool to the image that the record of
    images gives it; where it is not known, what images/images.yaml lets it run counts.
    """
    named = owners(stacks)
    ours = tuple(each for each in demands.demands if each.owner in named)
    case = _Case(
        stacks={each.stack: each for each in stacks},
        offers=Offers.of(stacks),
        demands=demands.model_copy(update={"demands": ours}),
        strangers=tuple(each for each in demands.demands if each.owner not in named),
        promoted=promoted or {},
    )
    return tuple(sorted({misfit for find in _FINDERS for misfit in find(case)}))


def _runners(case: _Case) -> Iterator[Misfit]:
    for demand in case.demands.demands:
        if demand.hosted or demand.group:
            continue
        matching, taking = case.offers.matching(demand), case.offers.taking(demand)
        if not matching:
            if case.offers.whole:
                yield _unmet(case, demand)
        elif not taking:
            pools = ", ".join(each.pool for each in matching)
            reason = f"runs on {_said(demand)}, and pool {pools} does not serve {demand.repository}"
            yield _of_job(
                MisfitKind.RUNNER,
                demand,
                reason,
                f"serves: [{demand.repository}] in pool {pools}, or {demand.without}",
                matching,
            )
        else:
            yield from _untrusted(demand, taking)
            if not any(each.vms for each in taking):
                pools = ", ".join(each.pool for each in taking)
                reason = f"runs on {_said(demand)}, and pool {pools} has no VM that stands: it waits a day and fails"
                yield _of_job(MisfitKind.RUNNER, demand, reason, f"a count of 1 or more in pool {pools}", taking)


def _unmet(case: _Case, demand: Demand) -> Misfit:
    """A job whose labels no runner has."""
    missing = absent_labels(demand.labels, case.offers.labels)
    repository = demand.repository.lower()
    serving = [each for each in case.offers.pools if repository in each.serves]
    if not missing:
        reason = f"runs on {_said(demand)}, and no pool has all of these labels"
        fix = "the label of one pool"
    else:
        said = " and ".join(missing)
        ours = "" if any(is_github_own_label(label) for label in missing) else ", and GitHub has no such runner"
        reason = f"runs on {_said(demand)}, and no pool has the label {said}{ours}: it waits a day and fails"
        near = nearest(missing[0], sorted({label for each in serving for label in each.labels} - RUNNERS_OWN | HOSTED))
        fix = f"a pool with the label {said} that serves {demand.repository}"
        fix = f"{near}, or {fix}" if near else fix
    fix = f"{fix}, or {demand.without}"
    stacks = {each.stack for each in serving} or set(case.stacks)
    return Misfit(MisfitKind.RUNNER, demand.subject, reason, fix, stacks=tuple(sorted(stacks)))


def _untrusted(demand: Demand, taking: Sequence[Offer]) -> Iterator[Misfit]:
    for pool in taking:
        for code, allowed, who in _TRUSTED:
            events = sorted({each.event for each in demand.starts if each.code is code})
            if events and pool.trust not in allowed:
                fix = " or ".join(f"trust: {each}" for each in allowed)
                reason = f"{', '.join(events)} runs {who} on pool {pool.pool}, whose trust is {pool.trust}"
                yield _of_job(
                    MisfitKind.RUNNER, demand, reason, f"a condition that leaves it out, or a pool with {fix}", [pool]
                )


def _untrusted_vm(demand: Demand, pool: Offer) -> Iterator[Misfit]:
    for code, allowed, who in _TRUSTED:
        if demand.vm_code is code and pool.trust not in allowed:
            fix = " or ".join(f"trust: {each}" for each in allowed)
            reason = f"runs {who} on a VM made as pool {pool.pool} says, whose trust is {pool.trust}"
            yield _of_job(MisfitKind.RUNNER, demand, reason, f"a pool with {fix}", [pool])


def _shared_vms(case: _Case) -> Iterator[Misfit]:
    """Runs of a pool share its account, and one that breaks out can write what another leaves."""
    for pool in case.offers.pools:
        made = [each for each in case.demands.demands if each.vm == pool.pool]
        others = sorted({each.subject for each in made if each.vm_code is not Code.FORK})
        for demand in made if others else ():
            if demand.vm_code is Code.FORK:
                reason = f"runs the code of anybody's fork on a VM made as pool {pool.pool}, as which {others[0]} runs"
                fix = f"a pool of its own with trust: fork, as fork_pool of tidepool:runs in stack {pool.stack}"
                yield _of_job(MisfitKind.RUNNER, demand, f"{reason} the lab's", fix, [pool])


def _vms(case: _Case) -> Iterator[Misfit]:
    """VMs that jobs make for their run, as a pool says."""
    for demand in case.demands.demands:
        pool = case.offers.pool(demand.vm) if demand.vm is not None else None
        if pool is not None:
            yield from _untrusted_vm(demand, pool)
        elif demand.vm is not None and case.offers.whole:
            near = nearest(demand.vm, (each.pool for each in case.offers.pools))
            reason = f"makes a VM as pool {demand.vm} says, and no stack has a pool of that name"
            fix = f"{near}, or a pool {demand.vm}" if near else f"a pool {demand.vm}"
            fix = f"{fix}, or {demand.without}"
            yield Misfit(MisfitKind.RUNNER, demand.subject, reason, fix, stacks=tuple(sorted(case.stacks)))


def _images(case: _Case) -> Iterator[Misfit]:
    for demand, pool in _placed(case):
        yield from _cache(case, demand, pool)
        offered = case.images_of(pool.pool)
        if demand.image is None:
            wanted = offered[0] if len(offered) == 1 else ""
        else:
            wanted = demand.image.rpartition("/")[2]
            if demand.vm is None and wanted not in offered:
                has_been = "was given" if pool.pool in case.promoted else "runs"
                reason = f"expects the image {wanted}, and pool {pool.pool} {has_been} {' or '.join(offered) or 'none'}"
                fix = f"used_by.pools of {wanted} in images/images.yaml, then ./tidepool images promote {wanted}"
                yield _of_job(MisfitKind.IMAGE, demand, reason, f"{fix} --pool {pool.pool}", [pool])
        yield from _far(case, demand, pool, wanted)


def _placed(case: _Case) -> Iterator[tuple[Demand, Offer]]:
    """Every job with each pool on whose VMs it runs, standing ones or made for it."""
    for demand in case.demands.demands:
        pools = case.offers.taking(demand) if not demand.hosted else ()
        made = case.offers.pool(demand.vm) if demand.vm is not None else None
        yield from ((demand, pool) for pool in (*pools, *((made,) if made else ())))


def _cache(case: _Case, demand: Demand, pool: Offer) -> Iterator[Misfit]:
    """The folder that start-up fills, that images have, and that the job reads, are one."""
    cache = case.demands.cache
    if demand.cache_folder is None or demand.vm is not None:
        return
    if {demand.cache_folder, cache.images, cache.start_up} != {cache.images}:
        reason = (
            f"looks for uv's cache in {demand.cache_folder}; images have it in {cache.images}, and the start-up of "
            f"pool {pool.pool} fills {cache.start_up}"
        )
        fix = f"{cache.images} everywhere, as paths.uv_cache of images/images.yaml says"
        yield _of_job(MisfitKind.IMAGE, demand, reason, fix, [pool])


def _far(case: _Case, demand: Demand, pool: Offer, name: str) -> Iterator[Misfit]:
    """Every region of the pool has the image, and the job names that of no other."""
    image = case.image(name)
    registry, ours, _ = (demand.image or "").partition("-docker.pkg.dev/")
    far = [region for region in pool.regions if region != registry and not region.startswith(f"{registry}-")]
    if ours and far:
        reason = f"reads the image {name} from {registry}, and pool {pool.pool} has VMs in {', '.join(far)}"
        yield _of_job(MisfitKind.IMAGE, demand, reason, "the registry of the VM's own region", [pool])
    stack = case.stacks.get(image.stack) if image is not None and image.stack is not None else None
    if image is None or stack is None:
        return
    own = stack.registries
    held = image.regions if image.regions is not None else own.regions if own else ()
    missing = [region for region in pool.regions if region not in held]
    if held and missing:
        reason = f"runs in {', '.join(missing)} with pool {pool.pool}, where no registry has the image {name}"
        fix = f"{missing[0]} in tidepool:registries of stack {stack.stack}"
        yield _of_job(MisfitKind.IMAGE, demand, reason, fix, [pool])


def _limits(case: _Case) -> Iterator[Misfit]:
    for demand in case.demands.demands:
        limit, inner = demand.timeout_minutes, demand.inner_minutes
        if limit is not None and inner is not None and inner >= limit:
            reason = f"stops what runs within after {minutes(inner)}, and GitHub stops the job after {minutes(limit)}"
            yield _of_job(
                MisfitKind.LIMIT, demand, reason, "an inner limit shorter than timeout-minutes", _of(case, demand)
            )
        for longest, whose, pools in _longest(case, demand):
            if limit is None or limit > longest:
                said = "has no time limit" if limit is None else f"may take {minutes(limit)}"
                reason = f"{said}, and {whose} {minutes(longest)} at most"
                yield _of_job(MisfitKind.LIMIT, demand, reason, f"timeout-minutes: {longest} or less", pools)


def _of(case: _Case, demand: Demand) -> Sequence[Offer]:
    """The pools that a job concerns; all where it concerns none."""
    return [pool for each, pool in _placed(case) if each is demand] or case.offers.pools


def _longest(case: _Case, demand: Demand) -> Iterator[tuple[int, str, Sequence[Offer]]]:
    """The most minutes that a job may last where it runs, and what says so."""
    if demand.hosted:
        yield LONGEST_HOSTED, "a runner of GitHub's works for", _of(case, demand)
        return
    for pool in case.offers.taking(demand):
        if pool.preemptible:
            yield LONGEST_PREEMPTIBLE, f"the preemptible VMs of pool {pool.pool} live", [pool]
        else:
            yield LONGEST_OURS, f"a runner of pool {pool.pool} works for", [pool]


def _waits(case: _Case) -> Iterator[Misfit]:
    seen: dict[tuple[str, tuple[str, ...]], Wait] = {}
    for wait in waits(case.demands, case.offers):
        too_long = wait.last is not None and (
            wait.last > LONGEST_QUEUED or (wait.event.startswith("pull_request") and wait.last > PATIENCE)
        )
        key = wait.demand.subject, wait.pools
        if too_long and (key not in seen or (wait.last or 0) > (seen[key].last or 0)):
            seen[key] = wait
    for wait in seen.values():
        fails = (wait.last or 0) > LONGEST_QUEUED
        reason = f"{wait}" + (": GitHub fails it after a day" if fails else "")
        fix = f"more VMs in pool {', '.join(wait.pools)}, fewer legs, or a shorter limit"
        yield Misfit(MisfitKind.WAIT, wait.demand.subject, reason, fix, stops=fails, stacks=wait.stacks)


def _unclaimed(case: _Case) -> Iterator[Misfit]:
    yield from idle(case.offers.pools, {pool.pool for _, pool in _placed(case)}, case.demands.demands)
    if case.offers.whole:
        yield from strangers(case.strangers, case.stacks)


def _of_job(kind: MisfitKind, demand: Demand, reason: str, fix: str, pools: Sequence[Offer]) -> Misfit:
    stacks = tuple(sorted({each.stack for each in pools}))
    return Misfit(kind, demand.subject, reason, fix, stacks=stacks)


def _said(demand: Demand) -> str:
    return f"[{', '.join(demand.labels)}]"


_TRUSTED: Final[tuple[tuple[Code, tuple[Trust, ...], str], ...]] = (
    (Code.FORK, (Trust.FORK,), "the code of anybody's fork"),
    (Code.BRANCH, (Trust.FORK, Trust.MEMBER), "the code of a branch"),
)
"""What may run where: whose code, on pools of which trust; the code of main runs on all."""
_FINDERS: Final[tuple[Callable[[_Case], Iterator[Misfit]], ...]] = (
    _runners,
    _vms,
    _shared_vms,
    _images,
    _limits,
    _waits,
    _unclaimed,
)
