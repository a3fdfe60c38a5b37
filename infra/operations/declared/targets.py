"""What `--target` and the names of `adopt` and `forget` mean: resources by name, by a pattern of it, or by URN."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from infra.model import urns
from infra.model.errors import ConfigError, meant
from infra.model.fleet import pool_slots
from infra.model.plan import Plan
from infra.model.stack import load_stack
from infra.operations.errors import Refusal


def patterns(root: Path, stack: str, names: Iterable[str]) -> tuple[str, ...]:
    """The URNs that are meant, with the engines' wildcards. A pool's name is that of its component and declared VMs."""
    return tuple(dict.fromkeys(urns.named(each) for name in names for each in _meant(root, stack, name)))


def insist_found(root: Path, plan: Plan, asked: Iterable[str]) -> None:
    """Refusal where a pattern is neither of a resource of a whole plan or run nor of what the file declares."""
    there, declared = {step.urn for step in plan.steps}, {*_declared(root, plan.stack)}
    lost = [each.rpartition("::")[2] for each in asked if not any(urn in urns.Patterns([each]) for urn in there)]
    if plan.failed or declared.issuperset(lost):
        return
    names = sorted({step.name for step in plan.steps} | declared)
    said = " ".join(
        f"{plan.stack} has no resource named {name!r}.{meant(name, names)}" for name in lost if name not in declared
    )
    raise Refusal(f"{said} `./tidepool preview {plan.stack} --all` names what an up makes, with --json all")


def _meant(root: Path, stack: str, name: str) -> Iterable[str]:
    return (name, *_declared(root, stack).get(name, ()))


def _declared(root: Path, stack: str) -> dict[str, tuple[str, ...]]:
    """The VMs of each pool by its name; each VM has none."""
    try:
        config = load_stack(root, stack, alone=True)
    except ConfigError:
        return {}
    pools = {pool.name: tuple(slot.name for slot in pool_slots(config, pool)) for pool in config.pools}
    return {**dict.fromkeys((vm for vms in pools.values() for vm in vms), ()), **pools}
