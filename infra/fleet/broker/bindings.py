"""The broker's record of each VM in the fleet bucket, and of removals, shared by every broker of a stack.

Owns its JSON and that it is replaced only as it was read, so that brokers agree: of two that admit one VM at once, one
reads the other's record and decides again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, PlainSerializer, ValidationError

from infra.fleet.broker.decide import Binding, Claims, NodeLife
from infra.fleet.broker.refusals import Reason, Refused, answered_by_google
from infra.fleet.records import Records
from infra.model import bucket_names

REMOVALS: Final = 10
"""Runners removed for the controller within a minute."""
_MINUTE: Final = timedelta(minutes=1)
_KEPT: Final = timedelta(hours=1)
"""For how much longer than it lasts a used token is remembered, for clocks that differ."""

_Moment = Annotated[AwareDatetime, PlainSerializer(datetime.isoformat, when_used="json")]


class _BrokerRecord(BaseModel):
    """Every key is needed: what a record lacks would be taken for never used and never asked."""

    version: Literal[1]
    stack: str


class _VmRecord(_BrokerRecord):
    vm: str
    life: str
    instance: str | None
    since: _Moment
    runner: str | None
    scope: str | None
    asked: tuple[_Moment, ...]
    used: dict[str, _Moment]

    @property
    def binding(self) -> Binding:
        kept = self.model_dump(exclude={"version", "stack", "vm", "life"})
        return Binding(life=NodeLife.parse(self.life), **kept)


class _Instance(_BrokerRecord):
    vm: str


class _Use(BaseModel):
    vm: str
    ends: _Moment


class _Used(_BrokerRecord):
    tokens: dict[str, _Use]


class _Scopes(_BrokerRecord):
    scopes: tuple[str, ...]


class _Removals(_BrokerRecord):
    at: tuple[_Moment, ...]


Shape = TypeVar("Shape", bound=_BrokerRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bindings:
    """The bindings of one stack. Every method raises Refused where a record cannot be read or written."""

    records: Records
    stack: str

    def update(self, vm: str, decide: Callable[[Binding | None], Binding]) -> Binding:
        """Replace a VM's binding by what `decide` makes of the present one, and return it.

        `decide` is asked again where another broker came first, and may raise Refused.
        """
        made: list[Binding] = []

        def replaced(current: _VmRecord | None) -> dict[str, Any]:
            made.append(decide(current.binding if current else None))
            return {"vm": vm, **asdict(made[-1]), "life": str(made[-1].life)}

        self._update(bucket_names.binding_object(self.stack, vm), _VmRecord, replaced)
        return made[-1]

    def claim(self, instance: str, vm: str) -> None:
        """Take a machine for a VM, for as long as there are records: it is never another VM's.

        Otherwise one machine's token could speak for every VM of its pool that is not bound yet. Raises Refused where
        it is another's.
        """

        def taken(current: _Instance | None) -> dict[str, Any]:
            if current is not None and current.vm != vm:
                raise Refused(Reason.OTHER_SLOT, f"instance {instance} is {current.vm}")
            return {"vm": vm}

        self._update(bucket_names.instance_object(self.stack, instance), _Instance, taken)

    def spend(self, claims: Claims, vm: str, now: datetime) -> None:
        """Use up a token that names no machine for one VM: it is good for no other of its pool.

        One that names a machine is no good for another VM anyway (`claim`). Raises Refused where another VM used it.
        """
        token = claims.fingerprint

        def spent(current: _Used | None) -> dict[str, Any]:
            used = current.tokens if current else {}
            if token in used and used[token].vm != vm:
                raise Refused(Reason.REPLAYED, f"{used[token].vm} used it")
            kept = {each: by for each, by in used.items() if by.ends + _KEPT > now}
            return {"tokens": kept | {token: _Use(vm=vm, ends=claims.expires)}}

        self._update(bucket_names.used_object(self.stack, token[:2]), _Used, spent)

    def knows(self, vm: str) -> bool:
        """Whether a VM of that name ever got a runner of this stack."""
        with answered_by_google():
            body = self.records.body(bucket_names.binding_object(self.stack, vm))
        # Other records stand beside those of VMs, under names that a VM's could be.
        return body is not None and body.get("vm") == vm

    def scopes(self) -> frozenset[str] | None:
        """Where runners of this stack were ever registered, None where there is no record of it."""
        name = bucket_names.scopes_object(self.stack)
        with answered_by_google():
            body = self.records.body(name)
        return frozenset(_parsed(_Scopes, name, body).scopes) if body is not None else None

    def note_scope(self, scope: str) -> None:
        """Remember that runners are registered there."""

        def noted(current: _Scopes | None) -> dict[str, Any]:
            return {"scopes": sorted({*(current.scopes if current else ()), scope})}

        self._update(bucket_names.scopes_object(self.stack), _Scopes, noted)

    def count_removal(self, now: datetime) -> None:
        """Count one that is about to be done. Raises Refused where there were too many within a minute."""

        def counted(current: _Removals | None) -> dict[str, Any]:
            recent = [at for at in sorted(current.at if current else ()) if timedelta(0) <= now - at < _MINUTE]
            if len(recent) >= REMOVALS:
                raise Refused(Reason.TOO_OFTEN, again=(recent[0] + _MINUTE - now).total_seconds() + 1)
            return {"at": (*recent, now)}

        self._update(bucket_names.removals_object(self.stack), _Removals, counted)

    def _update(self, name: str, shape: type[Shape], decide: Callable[[Shape | None], dict[str, Any]]) -> None:
        """Replace a record by what `decide` makes of it: all but version and stack."""

        def replaced(body: Mapping[str, Any] | None) -> dict[str, Any]:
            wanted = decide(None if body is None else _parsed(shape, name, body))
            return shape(version=1, stack=self.stack, **wanted).model_dump(mode="json")

        with answered_by_google():
            self.records.update(name, replaced)


def _parsed(shape: type[Shape], name: str, body: Mapping[str, Any]) -> Shape:
    try:
        return shape.model_validate(body)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"]))
        raise Refused(Reason.BAD_RECORD, f"{name}: {where}: {wrong['msg']}") from None
