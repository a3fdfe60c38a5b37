"""Rules of an edit that somebody must have meant: what an apply refuses, whose code is let in, how much it grows.

Owns what is protected of a stack file, and from when on growth needs a word. Each rule is about the edit from one
version to the next: without the earlier one it finds nothing, and merged it is over. The word is an exception in the
stack file, which the pull request shows with its reason; that of a removed file stands in the version before.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from infra.model import names
from infra.model.cost import stack_cost
from infra.model.offers import owners
from infra.model.schema import StackConfig
from infra.rules.finding import Level
from infra.rules.rule import Broken, Edit, EditRule

GROWTH_CHIPS: Final = 256
"""Chips that one edit may add to a stack without a word."""
GROWTH_FACTOR: Final = 4
"""To how many times its chips one edit may bring a stack without a word, once that is more than SMALL_CHIPS more."""
SMALL_CHIPS: Final = 64
GROWTH_USD: Final = 100_000
"""US dollars a month, at list prices, that one edit may add without a word: a little more than 256 chips of v5e on spot
capacity in us-west4 ($89,702)."""
SMALL_USD: Final = 25_000
"""As SMALL_CHIPS, which are $22,426 there."""

LETS_GO: Final = ("cluster ", "store ")
"""How protected losses begin that the stack file itself can let go."""
LET_GO: Final = "set its deletion_protection: false and `up` first"


def protected_losses(before: StackConfig, after: StackConfig) -> Iterator[str]:
    """What the engine holds protected and the edit drops, as people call it.

    The resources are those that infra/components declare with protect: secrets, repositories, buckets, the pool by
    which workflows are let in, and a cluster and a store until an `up` with deletion_protection: false.
    """
    if before.bucket != after.bucket:
        yield f"bucket {before.bucket.name}"
    for name in sorted(_checkpoints(before) - _checkpoints(after)):
        yield f"bucket {name}"
    for name in sorted({each.name for each in before.secrets} - {each.name for each in after.secrets}):
        yield f"secret {name}"
    regions, repositories = _registries(before)
    kept_regions, kept_repositories = _registries(after)
    for region in sorted(regions - kept_regions):
        yield f"registry region {region}"
    for repository in sorted(repositories - kept_repositories):
        yield f"repository {repository}"
    if before.github is not None and after.github is None:
        yield f"workload identity pool {names.federation_pool_id(before.stack)}"
    if (cluster := before.cluster) is not None and cluster.deletion_protection:
        kept = after.cluster
        if kept is None or (kept.name, kept.region) != (cluster.name, cluster.region):
            yield f"cluster {cluster.name}"
    if (store := before.store) is not None and store.deletion_protection:
        kept_store = after.store
        if kept_store is None or kept_store.identity != store.identity:
            yield f"store {names.store_name(before.stack)}"


def _checkpoints(config: StackConfig) -> set[str]:
    """Buckets that groups with an image declare; one that moves to another place is replaced."""
    return {f"{own.bucket} in {own.location}" for each in config.groups if (own := each.own_bucket) is not None}


def _registries(config: StackConfig) -> tuple[set[str], set[str]]:
    own = config.registries
    return (set(own.regions), {each.name for each in own.repositories}) if own else (set(), set())


def _refused(edit: Edit) -> Iterator[Broken]:
    if edit.before is None:
        return
    stack = edit.before.stack
    if edit.removed:
        said = f"without its file no `up` deletes what {stack} made, and nothing keeps it any more"
        fix = f"`./tidepool destroy {stack}` first; then an exception for `stack {stack}`, merged before the removal"
        yield Broken(f"stack {stack}", said, fix)
        return
    if edit.before.project != edit.after.project:
        said = f"the stack moves to {edit.after.project}, and an `up` refuses to delete what is protected in "
        yield Broken(f"project {edit.before.project}", f"{said}{edit.before.project}")
    for loss in protected_losses(edit.before, edit.after):
        said = "it leaves the file, and an `up` refuses to delete it: it is protected"
        yield Broken(loss, said, f"put it back, or {LET_GO}") if loss.startswith(LETS_GO) else Broken(loss, said)


def _foreign(edit: Edit) -> Iterator[Broken]:
    if edit.before is None or edit.removed:
        return
    known = owners((edit.before, *edit.siblings_before)) or _hub_owner(edit.after)
    for pool in edit.after.pools:
        for repository in pool.serves:
            owner = repository.partition("/")[0]
            if known and owner.lower() not in known:
                said = f"{owner} is new to the stacks: whoever can push to {repository} runs code there"
                yield Broken(f"pools[{pool.name}].serves {repository}", said)


def _hub_owner(config: StackConfig) -> frozenset[str]:
    return frozenset() if config.github is None else frozenset({config.github.repository.partition("/")[0].lower()})


def _grows(edit: Edit) -> Iterator[Broken]:
    if edit.before is None or edit.removed:
        return
    was, becomes = (stack_cost(each, edit.today, edit.window_hours) for each in (edit.before, edit.after))
    money, chips = (was.worst.month, becomes.worst.month), (was.chips, becomes.chips)
    more = money[1] - money[0]
    priced = f", and by list prices {more:,.0f} a month more" if more.known > 0 else ""
    priced = f", and what they cost is not known: {', '.join(more.reasons)}" if more.unknown else priced
    if _is_much(*chips, GROWTH_CHIPS, SMALL_CHIPS):
        yield Broken("chips", f"{chips[0]:,} -> {chips[1]:,} chips in the worst case{priced}")
    elif _is_much(money[0].known, money[1].known, GROWTH_USD, SMALL_USD):
        yield Broken("dollars", f"{money[0]:,.0f} -> {money[1]:,.0f} a month in the worst case, by list prices")


def _is_much(was: Decimal | int, becomes: Decimal | int, much: int, small: int) -> bool:
    """Whether an edit adds more than `much`, or multiplies what there was and adds more than `small`."""
    more = becomes - was
    return more > much or (was > 0 and becomes > GROWTH_FACTOR * was and more > small)


RULES: Final = (
    EditRule(
        id="apply-refuses",
        level=Level.STOP,
        reason="What is merged and cannot be applied holds every later edit of the stack.",
        fix="put it back; or unprotect it first (docs/never.md), and say so in an exception",
        check=_refused,
        once=True,
    ),
    EditRule(
        id="foreign-repository",
        level=Level.STOP,
        reason="Whoever can push to a repository that a pool serves runs code on its VMs.",
        fix="a repository of an owner that the stacks name already, or an exception that says whose it is and why",
        check=_foreign,
        once=True,
    ),
    EditRule(
        id="growth",
        level=Level.STOP,
        reason="A slip of a digit is a fleet of thousands; more is said with its reason.",
        fix="a smaller count, or an exception for this subject that says why",
        check=_grows,
        once=True,
    ),
)
