"""The broker's record of each VM in the fleet bucket, and of removals, shared by every broker of a stack.

Owns its JSON and that it is replaced only as it was read, so that brokers agree: of two that admit one VM at once, one
reads the other's record and decides again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from infra.fleet.broker.decide import Binding, Claims
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.google import GoogleError
from infra.fleet.records import Records
from infra.model import names

VERSION: Final = 1
REMOVALS: Final = 10
"""Runners removed for the controller within a minute."""
_MINUTE: Final = timedelta(minutes=1)
_KEPT: Final = timedelta(hours=1)
"""For how much longer than it lasts a used token is remembered, for clocks that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bindings:
    """The bindings of one stack."""

    records: Records
    stack: str

    def update(self, vm: str, decide: Callable[[Binding | None], Binding]) -> Binding:
        """Replace a VM's binding by what `decide` makes of the present one, and return it.

        `decide` is asked again where another broker came first, and may raise Refused. Raises Refused where the record
        cannot be read or written.
        """
        made: list[Binding] = []

        def replaced(current: Mapping[str, Any] | None) -> dict[str, Any]:
            made.append(decide(None if current is None else _read(current)))
            return {"version": VERSION, "stack": self.stack, "vm": vm, **_written(made[-1])}

        try:
            self.records.update(names.binding_object(self.stack, vm), replaced)
        except GoogleError as error:
            raise Refused(Reason.GOOGLE_DOWN, str(error)) from None
        return made[-1]

    def claim(self, instance: str, vm: str) -> None:
        """Take a machine for a VM, for as long as there are records: it is never another VM's.

        Otherwise one machine's token could speak for every VM of its pool that is not bound yet. Raises Refused where
        it is another's, or where the record cannot be read or written.
        """

        def taken(current: Mapping[str, Any] | None) -> dict[str, Any]:
            if current is not None and current.get("vm") != vm:
                raise Refused(Reason.OTHER_SLOT, f"instance {instance} is {current.get('vm')}")
            return {"version": VERSION, "stack": self.stack, "vm": vm}

        try:
            self.records.update(names.instance_object(self.stack, instance), taken)
        except GoogleError as error:
            raise Refused(Reason.GOOGLE_DOWN, str(error)) from None

    def spend(self, claims: Claims, vm: str, now: datetime) -> None:
        """Use up a token that names no machine for one VM: it is good for no other of its pool.

        One that names a machine is no good for another VM anyway (`claim`). Raises Refused where another VM used it,
        or where the record cannot be read or written.
        """
        token = claims.fingerprint

        def spent(current: Mapping[str, Any] | None) -> dict[str, Any]:
            used = _used(current)
            if token in used and used[token][0] != vm:
                raise Refused(Reason.REPLAYED, f"{used[token][0]} used it")
            kept = {each: by for each, by in used.items() if by[1] + _KEPT > now} | {token: (vm, claims.expires)}
            tokens = {each: {"vm": by, "ends": ends.isoformat()} for each, (by, ends) in kept.items()}
            return {"version": VERSION, "stack": self.stack, "tokens": tokens}

        try:
            self.records.update(names.used_object(self.stack, token[:2]), spent)
        except GoogleError as error:
            raise Refused(Reason.GOOGLE_DOWN, str(error)) from None

    def knows(self, vm: str) -> bool:
        """Whether a VM of that name ever got a runner of this stack. Raises Refused where that cannot be read."""
        try:
            record = self.records.read(names.binding_object(self.stack, vm))
        except GoogleError as error:
            raise Refused(Reason.GOOGLE_DOWN, str(error)) from None
        # Other records stand beside those of VMs, under names that a VM's could be.
        return record is not None and record.body.get("vm") == vm

    def scopes(self) -> frozenset[str] | None:
        """Where runners of this stack were ever registered, None where there is no record of it.

        Raises Refused where that cannot be read.
        """
        try:
            record = self.records.read(names.scopes_object(self.stack))
        except GoogleError as error:
            raise Refused(Reason.GOOGLE_DOWN, str(error)) from None
        return frozenset(_scopes(record.body)) if record is not None else None

    def note_scope(self, scope: str) -> None:
        """Remember that runners are registered there. Raises Refused where the record cannot be read or written."""

        def noted(current: Mapping[str, Any] | None) -> dict[str, Any]:
            known = [] if current is None else _scopes(current)
            return {"version": VERSION, "stack": self.stack, "scopes": sorted({*known, scope})}

        try:
            self.records.update(names.scopes_object(self.stack), noted)
        except GoogleError as error:
            raise Refused(Reason.GOOGLE_DOWN, str(error)) from None

    def count_removal(self, now: datetime) -> None:
        """Count one that is about to be done. Raises Refused where there were too many within a minute."""

        def counted(current: Mapping[str, Any] | None) -> dict[str, Any]:
            recent = [at for at in _removals(current) if timedelta(0) <= now - at < _MINUTE]
            if len(recent) >= REMOVALS:
                raise Refused(Reason.TOO_OFTEN, again=(recent[0] + _MINUTE - now).total_seconds() + 1)
            return {"version": VERSION, "stack": self.stack, "at": [at.isoformat() for at in (*recent, now)]}

        try:
            self.records.update(names.removals_object(self.stack), counted)
        except GoogleError as error:
            raise Refused(Reason.GOOGLE_DOWN, str(error)) from None


def _scopes(body: Mapping[str, Any]) -> list[str]:
    scopes = body.get("scopes")
    if not isinstance(scopes, list) or not all(isinstance(each, str) for each in scopes):
        raise Refused(Reason.BAD_RECORD, "of scopes")
    return scopes


def _used(body: Mapping[str, Any] | None) -> dict[str, tuple[str, datetime]]:
    """By fingerprint the VM that used a token, and when the token ends."""
    if body is None:
        return {}
    try:
        return {each: (by["vm"], datetime.fromisoformat(by["ends"])) for each, by in body["tokens"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refused(Reason.BAD_RECORD, f"of used tokens: {type(error).__name__}") from None


def _removals(body: Mapping[str, Any] | None) -> list[datetime]:
    if body is None:
        return []
    try:
        return sorted(datetime.fromisoformat(at).astimezone() for at in body["at"])
    except (KeyError, TypeError, ValueError) as error:
        raise Refused(Reason.BAD_RECORD, f"of removals: {type(error).__name__}") from None


def _read(body: Mapping[str, Any]) -> Binding:
    if body.get("version") != VERSION:
        raise Refused(Reason.BAD_RECORD, f"version {body.get('version')!r} is not known")
    try:
        return Binding(
            life=body["life"],
            instance=body["instance"],
            since=datetime.fromisoformat(body["since"]),
            runner=body["runner"],
            scope=body["scope"],
            asked=tuple(datetime.fromisoformat(moment) for moment in body["asked"]),
            used={token: datetime.fromisoformat(ends) for token, ends in body["used"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refused(Reason.BAD_RECORD, f"{type(error).__name__}: {error}") from None


def _written(binding: Binding) -> dict[str, Any]:
    return {
        "life": binding.life,
        "instance": binding.instance,
        "since": binding.since.isoformat(),
        "runner": binding.runner,
        "scope": binding.scope,
        "asked": [moment.isoformat() for moment in binding.asked],
        "used": {token: ends.isoformat() for token, ends in binding.used.items()},
    }
