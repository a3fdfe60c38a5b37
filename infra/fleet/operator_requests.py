"""What people want of a fleet, `control/STACK/wishes.json`: what is drained, which rollouts rest or are taken back.

Owns the document's shape (version 1), what it means to the controller, and its changes, each a pure function from one
document to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from infra.fleet.records import Body, Newest, Records, UnreadableRecordError
from infra.fleet.versions import TakenBack, VersionPart, names_one_of, taken_back
from infra.model import bucket_names
from infra.model.json_shape import JsonShape

VERSION: Final = 1
_UNDONE_KEPT: Final = 20
"""Images and bundles of a pool that are remembered as taken back; an older one will not be promoted again unseen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainRequest(JsonShape):
    """Somebody wants a pool or a VM to take no more jobs. minutes: how long it waits for running ones.

    until: when it is over though nobody ended it, as that of a command which may be killed; None for never.
    """

    subject: str
    by: str
    since: datetime
    minutes: int
    until: datetime | None = None

    JSON = ("subject", "by", "since", "minutes")


@dataclass(frozen=True, slots=True)
class Undone:
    """Somebody took something of a version back. at: when; None in older records.

    over: whether it was asked for again since. Then it goes back once, and is tried anew.
    """

    what: TakenBack
    at: datetime | None = None
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRequests:
    """What people asked of the controller. undone: what a pool shall not run, by pool.

    redone: when the rollout went back that shall be tried again, by pool. lost: zones that somebody gave up, and who.
    """

    drains: tuple[DrainRequest, ...] = ()
    paused: frozenset[str] = frozenset()
    undone: Mapping[str, tuple[Undone, ...]] = field(default_factory=dict, hash=False)
    redone: Mapping[str, datetime] = field(default_factory=dict, hash=False)
    lost: Mapping[str, str] = field(default_factory=dict, hash=False)

    def at(self, now: datetime) -> OperatorRequests:
        """Those that stand at a time."""
        return replace(self, drains=tuple(each for each in self.drains if each.until is None or now < each.until))


def newest(records: Records, stack: str) -> Newest[OperatorRequests]:
    """What was asked for last that can be read; nothing, where nothing ever was. Raises GoogleError."""
    found = records.newest(bucket_names.requests_object(stack), read_requests)
    return found if found.value or found.unreadable else replace(found, value=OperatorRequests())


def requested(records: Records, stack: str) -> OperatorRequests:
    """What is asked for now. Raises GoogleError, also where the record cannot be read."""
    found = newest(records, stack)
    if found.unreadable:
        raise UnreadableRecordError(f"reading gs://{records.bucket}/{bucket_names.requests_object(stack)}", found.why)
    return found.value or OperatorRequests()


def update(records: Records, stack: str, change: Callable[[Body | None], Body]) -> None:
    """Change the requests. Raises GoogleError, also where the record cannot be read: a person decides what holds."""
    requested(records, stack)
    records.update(bucket_names.requests_object(stack), change)


def read_requests(body: Body) -> OperatorRequests:
    """The requests of a document; ValueError where it is not one."""
    try:
        rollout = body.get("rollout") or {}
        return OperatorRequests(
            drains=tuple(
                DrainRequest(
                    subject=str(request["subject"]),
                    by=str(request.get("by", "somebody")),
                    since=_moment(request["since"]),
                    minutes=int(request["minutes"]),
                    until=_moment(request["until"]) if request.get("until") else None,
                )
                for request in body.get("drains", ())
            ),
            paused=frozenset(rollout.get("paused", ())),
            undone={pool: tuple(map(_undone, found)) for pool, found in (rollout.get("undone") or {}).items()},
            redone={pool: _moment(at) for pool, at in (rollout.get("redone") or {}).items()},
            lost={str(each["zone"]): str(each.get("by", "somebody")) for each in body.get("lost") or ()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the operator requests cannot be read: {type(error).__name__} {error}") from None


def with_drains(body: Body | None, requests: Iterable[DrainRequest]) -> dict[str, Any]:
    """With these drains in place of those that people asked for of the same subjects.

    One that is over by itself is a command's own: it stands beside all others, and ends none of them but what is over.
    """
    wanted, whole = tuple(requests), _whole(body)

    def stays(drain: Body) -> bool:
        until = _moment(drain["until"]) if drain.get("until") else None
        new = (each for each in wanted if each.subject == drain.get("subject"))
        return all(each.until is not None if until is None else each.since < until for each in new)

    kept = [each for each in whole["drains"] if stays(each)]
    return whole | {"drains": [*kept, *map(_drain, wanted)]}


def without_drains(body: Body | None, subjects: Collection[str]) -> dict[str, Any]:
    whole = _whole(body)
    return whole | {"drains": [each for each in whole["drains"] if each.get("subject") not in subjects]}


def without_these(body: Body | None, requests: Iterable[DrainRequest]) -> dict[str, Any]:
    """Without these very drains; others of the same subjects stand."""
    whole, gone = _whole(body), [_drain(each) for each in requests]
    return whole | {"drains": [each for each in whole["drains"] if each not in gone]}


def with_lost(body: Body | None, zone: str, by: str, since: datetime) -> dict[str, Any]:
    """With a zone given up: nothing is made there, and while it cannot be asked its VMs count as gone."""
    whole = without_lost(body, zone)
    return whole | {"lost": [*whole["lost"], {"zone": zone, "by": by, "since": since.isoformat()}]}


def without_lost(body: Body | None, zone: str) -> dict[str, Any]:
    whole = _whole(body)
    return whole | {"lost": [each for each in whole.get("lost") or () if each.get("zone") != zone]}


def paused(body: Body | None, pools: Iterable[str]) -> dict[str, Any]:
    """With rollouts of these pools at rest."""
    whole = _whole(body)
    return _with_rollout(whole, paused=sorted({*_paused(whole), *pools}))


def resumed(body: Body | None, pools: Collection[str]) -> dict[str, Any]:
    whole = _whole(body)
    return _with_rollout(whole, paused=sorted(_paused(whole) - set(pools)))


def undone(body: Body | None, pool: str, parts: Collection[VersionPart], at: datetime) -> dict[str, Any]:
    """With parts of a pool's target taken back. at: now; each going back has a time of its own."""
    whole = _whole(body)
    known = dict(whole["rollout"].get("undone") or {})
    kept = [each for each in known.get(pool, ()) if _undone(each).what not in parts]
    new = [{"part": str(part), "at": at.isoformat()} for part in sorted(parts)]
    return _with_rollout(whole, undone=known | {pool: [*kept, *new][-_UNDONE_KEPT:]})


def redone(body: Body | None, pool: str, parts: Collection[VersionPart], went_back: datetime) -> dict[str, Any]:
    """With parts of a pool's target asked for again. went_back: since when the pool's rollout is as it is.

    That time names what is to be tried again: where it goes back once more, this request is about it no longer. What
    was taken back is marked and not left out: it may be that no sweep has obeyed that yet.
    """
    whole = _whole(body)
    known = dict(whole["rollout"].get("undone") or {})
    left = [_over(each) if names_one_of(_undone(each).what, parts) else each for each in known.pop(pool, ())]
    left = [each for each in left if each is not None]
    again = dict(whole["rollout"].get("redone") or {}) | {pool: went_back.isoformat()}
    return _with_rollout(whole, undone=known | ({pool: left} if left else {}), redone=again)


def _undone(found: Any) -> Undone:
    """One entry; those of before parts were told apart are texts, which name whole targets."""
    if isinstance(found, str):
        return Undone(taken_back(found))
    return Undone(taken_back(str(found["part"])), _moment(found["at"]), over=found.get("over") is True)


def _over(found: Any) -> Mapping[str, Any] | None:
    """None of one that has no time by which the controller could say that it obeyed it."""
    return None if isinstance(found, str) else {**found, "over": True}


def _drain(request: DrainRequest) -> dict[str, Any]:
    until = {"until": request.until.isoformat()} if request.until else {}
    return {
        "subject": request.subject,
        "by": request.by,
        "since": request.since.isoformat(),
        "minutes": request.minutes,
    } | until


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return at


def _paused(whole: Body) -> set[str]:
    return set(whole["rollout"].get("paused") or ())


def _with_rollout(whole: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return whole | {"rollout": whole["rollout"] | changes}


def _whole(body: Body | None) -> dict[str, Any]:
    found = dict(body or {})
    return found | {
        "version": VERSION,
        "drains": list(found.get("drains") or ()),
        "rollout": dict(found.get("rollout") or {}),
    }
