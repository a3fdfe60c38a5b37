"""What a name that a person types means, by the stack files: a pool, a VM, a zone, a class, a group or a queue.

Owns that a name which is mistyped gets its nearest ones, and one which is several things is refused with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from infra.model import runner_names
from infra.model.errors import ConfigError, meant
from infra.model.schema import StackConfig
from infra.operations.declared.known import Named, named_in
from infra.operations.declared.stack_file import known_stacks, stack_file
from infra.operations.errors import Refusal

_PLACE: Final = r"[a-z]+-[a-z]+[0-9]+-[a-z0-9]+-[0-9]+"
"""A zone and an index, as they end a VM's name."""
_RUN: Final = r"-run-(?P<run>[a-z0-9]{1,32})-[0-9]{1,3}"
"""As the name of a run's VM ends (`infra.model.names.run_vm_name`)."""
_PLURALS: Final = {
    Named.POOL: "Pools",
    Named.ZONE: "Zones",
    Named.DASK: "Dask classes",
    Named.GROUP: "Groups",
    Named.QUEUE: "Queues",
}
"""Kinds with few names, all of which are said where none is meant."""

_FORMS: Final = {Named.VM: "a VM is POOL-ZONE-INDEX", Named.RUN: "a run is its number, as `run-on --json` says it"}


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """One thing of that name. stacks: those that have it; a zone may be several stacks'."""

    kind: Named
    name: str
    stacks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def readable_configs(stack: str | None) -> list[StackConfig]:
    """Of the stack that is named, which must be readable; else of every one of which something can be read."""
    if stack:
        return [stack_file(stack).config]
    found = []
    for name in known_stacks():
        with suppress(ConfigError):  # one that is broken altogether hides no other
            found.append(stack_file(name).config)
    return found


def declared_subjects(name: str, kinds: Collection[Named], configs: Iterable[StackConfig]) -> tuple[Subject, ...]:
    """What of these kinds has the name, one a kind.

    A VM is also one that is declared no more, as in a zone that is gone, or the VM of a runner; and a VM of a run is
    its run.
    """
    found: dict[tuple[Named, str], list[str]] = {}
    vm = runner_names.vm_of(name) or name
    for config in configs:
        mine = {(kind, said) for kind, said in named_in(config) if said == name}
        for pool in config.pools:
            if re.fullmatch(f"{re.escape(pool.name)}-{_PLACE}", vm):
                mine.add((Named.VM, vm))
        if config.runs is not None and (run := re.search(f"{_RUN}$", name)):
            mine.add((Named.RUN, run["run"]))
        for each in mine:
            found.setdefault(each, []).append(config.stack)
    return tuple(sorted(Subject(kind, said, tuple(stacks)) for (kind, said), stacks in found.items() if kind in kinds))


def the_one(name: str, found: Collection[Subject]) -> Subject:
    """The one that is meant; Refusal where it may be several things, or several stacks have it."""
    if len(found) > 1:
        raise Refusal(f"{name} is several things: say which with {' or '.join(map(str, sorted(found)))}")
    (subject,) = found
    if len(subject.stacks) > 1 and subject.kind not in (Named.ZONE, Named.RUN):
        raise Refusal(f"several stacks have {name}: say --stack with one of {', '.join(subject.stacks)}")
    return subject


def stack_of(subject: str, stack: str | None) -> str:
    """The stack whose pool, or a pool's VM, has this name. Refusal where none has, or several do."""
    configs, kinds = readable_configs(stack), (Named.POOL, Named.VM)
    found = declared_subjects(subject, kinds, configs)
    if not found:
        raise Refusal(not_found(subject, kinds, configs))
    return the_one(subject, found).stacks[0]


def not_found(name: str, kinds: Collection[Named], configs: Iterable[StackConfig]) -> str:
    """That nothing of these kinds has the name, the nearest that has, and what there is; of a stack, who tells it."""
    configs = list(configs)
    if any(config.stack == name for config in configs):
        return f"{name} is a stack: `./tidepool status {name}` says how its pools stand"
    known: dict[Named, set[str]] = {kind: set() for kind in kinds if kind is Named.POOL}
    for kind, each in (pair for config in configs for pair in named_in(config)):
        if kind in kinds:
            known.setdefault(kind, set()).add(each)
    there = [
        f"{said} are {', '.join(sorted(known[kind])) or 'none'}" for kind, said in _PLURALS.items() if kind in known
    ]
    forms = [form for kind, form in _FORMS.items() if kind in kinds]
    what = "pool or VM" if set(kinds) == {Named.POOL, Named.VM} else " or ".join(kinds)
    said = f"nothing is named {name}" if len(kinds) > 2 else f"there is no {what} named {name}"
    hints = "; ".join(filter(None, (". ".join(there), *forms)))
    return f"{said}.{meant(name, sorted(set().union(*known.values())))} {hints}".rstrip(" .")
