"""How many chips a project may hold: declared quotas and reservations, and what is held of each.

Owns the exact account. A holder takes its chips when it is created and gives them back when it is gone or no longer
runs, in the same transaction as its own change, so the account and the nodes cannot disagree. What nobody declared
does not limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from bench.cloud.errors import STRICT, ApiError, invalid, not_found
from bench.cloud.store import Store
from infra.model.catalogue import region_of
from infra.model.json_shape import JsonShape

_SCHEMA = """
CREATE TABLE IF NOT EXISTS holdings (
    holder TEXT PRIMARY KEY, project TEXT NOT NULL, zone TEXT NOT NULL, generation TEXT NOT NULL,
    capacity TEXT NOT NULL, chips INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS holdings_scope ON holdings (project, zone, generation, capacity, chips);
"""
_KIND = "declared-limit"
Capacity = Literal["on-demand", "preemptible", "reserved"]


@dataclass(frozen=True, slots=True, config=STRICT)
class LimitScope:
    """What chips are counted against. Spot and preemptible share one scope, as they share one quota in Google Cloud.

    zone: a zone, or a region for the chips of all its zones together.
    """

    project: str = Field(min_length=1)
    zone: str = Field(min_length=1)
    generation: str = Field(min_length=1)
    capacity: Capacity = "on-demand"

    @property
    def key(self) -> str:
        return f"{self.project}/{self.zone}/{self.generation}/{self.capacity}"

    @property
    def is_regional(self) -> bool:
        # `us-west4` is a region, `us-west4-a` a zone of it.
        return self.zone.count("-") == 1


@dataclass(frozen=True, slots=True, config=STRICT, kw_only=True)
class Limit(LimitScope, JsonShape):
    """A declared limit: of a `reserved` scope a reservation, of the others a quota.

    held_elsewhere: chips that others hold of it.
    """

    chips: int = Field(ge=0)
    name: str = ""
    held_elsewhere: int = Field(default=0, ge=0)


class Limits:
    def __init__(self, store: Store) -> None:
        self._store = store
        store.connection.executescript(_SCHEMA)

    def declare(self, limit: Limit, *, now: float) -> None:
        """Set the limit of a scope; one below what is held stops growth and takes nothing away. Raises 400."""
        if limit.is_regional and limit.capacity == "reserved":
            raise invalid(f"A reservation is of a zone, and {limit.zone} is a region.", field="zone")
        self._store.put(_KIND, limit.key, limit.to_json(), now=now)

    def lift(self, scope: LimitScope) -> None:
        """Raises 404 where none was declared."""
        if not self._store.delete(_KIND, scope.key):
            raise not_found(f"limit {scope.key}")

    def declared(self, scope: LimitScope) -> Limit | None:
        found = self._store.find(_KIND, scope.key)
        return Limit(**found.body) if found else None

    def each(self) -> Iterator[tuple[Limit, int]]:
        """Every declared limit with the chips held of it here."""
        for limit in [Limit(**found.body) for found in self._store.each(_KIND)]:
            yield limit, self.held(limit)

    def held(self, scope: LimitScope) -> int:
        row = self._store.connection.execute(
            "SELECT COALESCE(SUM(chips), 0) FROM holdings WHERE project = ? AND generation = ? AND capacity = ? "
            "AND (zone = ? OR zone LIKE ? || '-_')",
            (scope.project, scope.generation, scope.capacity, scope.zone, scope.zone),
        ).fetchone()
        return int(row[0])

    def exceeded(self, scope: LimitScope, chips: int) -> Limit | None:
        """The limit of a zone, or of its region, that cannot give `chips` more; None where both can."""
        for asked in (scope, replace(scope, zone=region_of(scope.zone))):
            limit = self.declared(asked)
            if limit is not None and self.held(asked) + limit.held_elsewhere + chips > limit.chips:
                return limit
        return None

    def take(self, holder: str, scope: LimitScope, chips: int) -> None:
        self._store.connection.execute(
            "INSERT INTO holdings (holder, project, zone, generation, capacity, chips) VALUES (?, ?, ?, ?, ?, ?)",
            (holder, scope.project, scope.zone, scope.generation, scope.capacity, chips),
        )

    def give_back(self, holder: str) -> None:
        """Nothing happens for one that holds nothing."""
        self._store.connection.execute("DELETE FROM holdings WHERE holder = ?", (holder,))


def quota_error(limit: Limit) -> ApiError:
    """What Google answers to a request above a limit."""
    if limit.capacity == "reserved":
        name = limit.name or "the reservation"
        text = (
            f"There is not enough capacity left in reservation '{name}' of {limit.chips} {limit.generation} chips "
            f"in zone {limit.zone}."
        )
    else:
        place = "region" if limit.is_regional else "zone"
        kind = f"{limit.generation}{'Preemptible' if limit.capacity == 'preemptible' else ''}"
        metric = f"TPU{kind}PerProjectPer{place.title()}ForTPUAPI"
        text = f"Quota limit '{metric}' has been exceeded. Limit: {limit.chips} in {place} {limit.zone}."
    violation = {"subject": f"project:{limit.project}", "description": text}
    detail = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
    return ApiError(429, text, details=[detail], reason="quotaExceeded")
