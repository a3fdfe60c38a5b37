"""Whether a VM gets a registration: a pure function of what it asks, who it is, what is known of it, and the time.

Owns the order of the questions and every limit. Does not own asking for the answers (`registration`). Who holds a good
token of an account that no pool has learns nothing of the fleet: that is asked first.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Self

from infra.fleet.broker.refusals import Reason, Refused
from infra.model.runner_names import MAX_RUNNER_NAME, SUFFIX_DIGITS

APART: Final = timedelta(seconds=40)
"""Between two requests of a VM. Longer than GitHub is waited for and records are written, with room for clocks that
differ between brokers, so that no two are answered for one VM at once."""
AN_HOUR: Final = 60
"""Requests of one VM within an hour."""
A_TURN: Final = timedelta(hours=1) / AN_HOUR
"""Who lets this much pass between two requests meets neither limit: nobody who was counted is told to come sooner."""
_HOUR: Final = timedelta(hours=1)
_READY: Final = "READY"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationRequest:
    """What a VM says of itself."""

    stack: str
    vm: str
    pool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """The machine that a token names. id: Compute Engine's number, another one for each machine that is made.

    made: when it was made, None where the token does not say it.
    """

    id: str
    zone: str
    made: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What is believed of a token. fingerprint: stands for the token. instance: None where the token names none."""

    email: str
    fingerprint: str
    issued: datetime
    expires: datetime
    instance: Instance | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A declared VM. zones: where it may be, its own first. scope: `orgs/NAME` or `repos/OWNER/NAME`, None for nowhere.

    group: name of its runner group, None for a repository's runner. serves: repositories, `OWNER/NAME`.
    """

    vm: str
    pool: str
    account: str
    zones: tuple[str, ...]
    labels: tuple[str, ...]
    scope: str | None
    group: str | None
    serves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFleet:
    """A stack's declared VMs by name. drained: VMs and pools that shall take no jobs."""

    stack: str
    slots: Mapping[str, Slot]
    drained: Set[str] = frozenset()

    @property
    def scopes(self) -> tuple[str, ...]:
        """Where its runners are registered."""
        return tuple(sorted({slot.scope for slot in self.slots.values() if slot.scope is not None}))

    @property
    def repositories(self) -> tuple[str, ...]:
        """Whose jobs its runners take."""
        return tuple(sorted({each for slot in self.slots.values() if slot.scope for each in slot.serves}))

    def could_have(self, vm: str) -> bool:
        """Whether a VM of that name is declared, or was while a pool had more VMs in one of its zones."""
        place, _, index = vm.rpartition("-")
        return vm in self.slots or (
            index.isdecimal()
            and any(place == f"{slot.pool}-{zone}" for slot in self.slots.values() for zone in slot.zones)
        )


class NodeLife(NamedTuple):
    """Which making of a VM it is, as its API says: both differ in the next one of its name."""

    id: str
    created: str

    def __str__(self) -> str:
        return f"{self.id} {self.created}"

    @classmethod
    def parse(cls, text: str) -> Self:
        number, _, created = text.partition(" ")
        return cls(number, created)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedNode:
    """A VM as the TPU API shows it."""

    zone: str
    state: str
    life: NodeLife
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What the broker remembers of a VM. instance: the machine that it serves, None while tokens name none.

    since: of this life. runner, scope: the one runner that may be there, None where none was made. asked: requests of
    the last hour that came as far as GitHub. used: when the tokens end that were used, by fingerprint.
    """

    life: NodeLife
    instance: str | None
    since: datetime
    runner: str | None = None
    scope: str | None = None
    asked: tuple[datetime, ...] = ()
    used: Mapping[str, datetime] = field(default_factory=dict, hash=False)


def entitled(request: RegistrationRequest, claims: Claims, fleet: DeclaredFleet) -> Slot:
    """The slot that a VM may speak for, as far as its token and the manifest say. Raises Refused."""
    if request.stack != fleet.stack:
        raise Refused(Reason.FOREIGN_STACK)
    if all(claims.email != slot.account for slot in fleet.slots.values()):
        raise Refused(Reason.UNKNOWN_ACCOUNT)
    slot = fleet.slots.get(request.vm)
    if slot is None:
        raise Refused(Reason.UNKNOWN_VM)
    if request.pool != slot.pool:
        raise Refused(Reason.WRONG_POOL)
    if claims.email != slot.account:
        raise Refused(Reason.WRONG_ACCOUNT)
    if claims.instance is not None and claims.instance.zone not in slot.zones:
        raise Refused(Reason.WRONG_ZONE, f"{claims.instance.zone}, and the VM may be in {', '.join(slot.zones)}")
    if slot.vm in fleet.drained or slot.pool in fleet.drained:
        raise Refused(Reason.DRAINING)
    if slot.scope is None:
        raise Refused(Reason.NO_HOME)
    if len(slot.vm) + 1 + SUFFIX_DIGITS > MAX_RUNNER_NAME:
        raise Refused(Reason.UNNAMEABLE)
    return slot


def standing(request: RegistrationRequest, claims: Claims, node: ObservedNode | None) -> ObservedNode:
    """The VM that is there, where it is one of ours and READY. Raises Refused."""
    if node is None:
        raise Refused(Reason.ABSENT)
    if node.state != _READY:
        raise Refused(Reason.NOT_READY, f"it is {node.state}")
    if (node.labels.get("tidepool-stack"), node.labels.get("tidepool-pool")) != (request.stack, request.pool):
        raise Refused(Reason.UNMANAGED)
    if claims.instance is not None and claims.instance.zone != node.zone:
        raise Refused(Reason.WRONG_ZONE, f"{claims.instance.zone}, and the VM is in {node.zone}")
    return node


def admitted(claims: Claims, node: ObservedNode, held: Binding | None, *, now: datetime) -> Binding:
    """The binding with this request counted and its token used up. Raises Refused.

    To be written before anybody is asked for more, so that what is refused later on was asked for all the same. The
    runner stays the one before.
    """
    if held is not None and claims.fingerprint in held.used:
        raise Refused(Reason.REPLAYED)
    bound = _bound(claims, node, held, now)
    recent = tuple(moment for moment in bound.asked if now - moment < _HOUR)
    if recent and now - recent[-1] < APART:
        raise Refused(Reason.TOO_OFTEN, again=(recent[-1] + APART - now).total_seconds() + 1)
    if len(recent) >= AN_HOUR:
        raise Refused(Reason.TOO_OFTEN, again=(recent[-AN_HOUR] + _HOUR - now).total_seconds() + 1)
    # A token is good for a minute more than it says, for clocks that differ: it is remembered for longer.
    unexpired = {token: ends for token, ends in bound.used.items() if ends + _HOUR > now}
    return replace(bound, asked=(*recent, now), used={**unexpired, claims.fingerprint: claims.expires})


def named(held: Binding | None, admission: Binding, *, runner: str, scope: str | None) -> Binding:
    """The binding with the runner that is to be made, once the one before is gone. Raises Refused.

    To be written before the runner is made: then the one that may be there is always known. held: as it is now, which
    another broker may have changed since the admission.
    """
    if held is None or held.asked[-1:] != admission.asked[-1:]:
        raise Refused(Reason.TOO_OFTEN, "another request of this VM came in between")
    return replace(held, runner=runner, scope=scope)


def _bound(claims: Claims, node: ObservedNode, held: Binding | None, now: datetime) -> Binding:
    """The binding of this life of the VM: the one there is, or a first one. Raises Refused for another instance.

    What was used and registered before stays known when a VM is made again: its tokens, and the runner to be removed.
    """
    instance = claims.instance.id if claims.instance else None
    if held is None:
        return Binding(life=node.life, instance=instance, since=now)
    if held.life != node.life:
        return replace(held, life=node.life, instance=instance, since=now, asked=())
    if held.instance is None:
        return replace(held, instance=instance)
    if instance != held.instance:
        raise Refused(Reason.OTHER_INSTANCE, f"bound to {held.instance} since {held.since.isoformat()}")
    return held
