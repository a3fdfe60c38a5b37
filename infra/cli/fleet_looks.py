"""Which stacks a fleet command is about, and how it comes to look at them.

Owns finding the stack of a pool or a VM by its name. Looking itself is `infra.fleet.status.look`.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from infra.cli.failures import Refusal
from infra.cli.fleet_place import Place, declared_place
from infra.cli.local_guests import local_guests
from infra.cli.session import Session, declared, open_session
from infra.cli.workspace import workspace
from infra.engines.protocol import CloudName
from infra.fleet.status.look import Scene, look
from infra.model.fleet import slots
from infra.model.offers import Offers
from infra.model.schema import StackConfig
from infra.model.stack import siblings, stack_names

_PLACE: Final = r"[a-z]+-[a-z]+[0-9]+-[a-z0-9]+-[0-9]+"
"""A zone and an index, as they end a VM's name."""


class UnknownSubject(Refusal):
    """No stack's pool, and no VM of one, has the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """One stack's fleet, and the session of the command that is about it."""

    config: StackConfig
    session: Session
    place: Place

    @property
    def stack(self) -> str:
        return self.config.stack

    def look(self, *, with_jobs: bool = False) -> Scene:
        """Look once, on the local cloud with its guests alive until now.

        Raises GoogleError where the bucket does not say what there shall be.
        """
        if guests := local_guests(self.place.endpoint):
            guests.settle()
        neighbours = Offers.of(siblings(workspace().root, self.stack)).pools if with_jobs else ()
        return look(self.stack, self.place.observer, self.place.clock, with_jobs=with_jobs, neighbours=neighbours)

    def pause(self, seconds: float) -> None:
        """Wait; on the local cloud its clock is moved in place of waiting."""
        if guests := local_guests(self.place.endpoint):
            guests.advance(seconds)
        else:
            time.sleep(seconds)


def open_fleet(stack: str, cloud: CloudName | None, console: Console) -> Fleet:
    config = declared(stack).config
    session = open_session(stack, engine=None, cloud=cloud, console=console)
    return Fleet(config=config, session=session, place=declared_place(config, session.endpoint))


def fleets_declared(stack: str | None) -> list[str]:
    """The stack that is named; else every stack that declares VMs."""
    if stack is not None:
        return [stack]
    return [name for name in stack_names(workspace().root) if slots(declared(name).config)]


def stack_of(subject: str, stack: str | None) -> str:
    """The stack whose pool, or a pool's VM, has this name. UnknownSubject where none has, Refusal where several do."""
    names = [stack] if stack else stack_names(workspace().root)
    configs = [declared(name).config for name in names]
    found = [config.stack for config in configs if _is_in(subject, config)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Refusal(f"{' and '.join(found)} have a pool that {subject} may be of; say --stack")
    pools = sorted({pool.name for config in configs for pool in config.pools})
    raise UnknownSubject(
        f"there is no pool or VM named {subject}; pools are {', '.join(pools)}, a VM is POOL-ZONE-INDEX"
    )


def _is_in(subject: str, config: StackConfig) -> bool:
    """Also a VM that is declared no more, as in a zone that is gone: its story may be asked for."""
    return any(subject == pool.name or _is_vm_of(subject, pool.name) for pool in config.pools)


def _is_vm_of(vm: str, pool: str) -> bool:
    return re.fullmatch(f"{re.escape(pool)}-{_PLACE}", vm) is not None
