"""What a rule is: an id, a level, a reason, a fix, and a check over an edit or over one resource.

Owns the two kinds of check and how what one finds becomes a Finding. Does not own which rules there are (book).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from infra.model import names
from infra.model.demand import Demands
from infra.model.phases import Phases
from infra.model.schema import StackConfig, Trust
from infra.rules.finding import Finding, Level
from infra.rules.view import ResourceView


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A stack file before and after, and what other rooms know of it.

    before: None where the stack is new, or where nobody handed in what it was.
    today: the instant by which freezes and expiries are judged; with a time zone.
    siblings: the other stacks of the repository. siblings_before: the same where nobody has edited them yet.
    removed: the stack file goes; `after` is then the stack with nothing in it but its exceptions.
    changes: whether anything at all would change; None is not known, and then counts as a change.
    order: the phases in which what stands becomes what is wanted; None where nobody knows what stands.
    runs_phases: whoever applies this runs the phases by himself, so that none need be warned of.
    window_hours: pool to the hours of a month in which it stands, for pools that do not stand around the clock.
    demands: what workflows ask of the fleet; None where nobody handed it in.
    """

    after: StackConfig
    today: datetime
    before: StackConfig | None = None
    siblings: tuple[StackConfig, ...] = ()
    siblings_before: tuple[StackConfig, ...] = ()
    removed: bool = False
    changes: bool | None = None
    order: Phases | None = None
    runs_phases: bool = False
    window_hours: Mapping[str, float] | None = None
    demands: Demands | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceContext:
    """What a rule over one resource may know of the stack that it stands in.

    fork_accounts: e-mail address of each fork pool's account, and the pool. addressed: pools whose VMs have an
    address of their own.
    """

    config: StackConfig
    fork_accounts: Mapping[str, str]
    addressed: frozenset[str]

    @classmethod
    def of(cls, config: StackConfig) -> ResourceContext:
        """The surroundings that a valid stack file declares."""
        return cls(
            config=config,
            fork_accounts={
                names.account_email(names.pool_account_id(config.stack, pool.name), config.project): pool.name
                for pool in config.pools
                if pool.trust is Trust.FORK
            },
            addressed=frozenset(pool.name for pool in config.pools if pool.external_ip),
        )


@dataclass(frozen=True, slots=True)
class Broken:
    """What a check found, before the rule's own words are put to it. level: where it differs from the rule's."""

    subject: str
    reason: str
    fix: str = ""
    level: Level | None = None


EditCheck: TypeAlias = Callable[[Edit], Iterator[Broken]]
ResourceCheck: TypeAlias = Callable[[ResourceView, ResourceContext], Iterator[Broken]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """id: as exceptions and findings name it. reason: why the rule is there. fix: what to do where it is broken."""

    id: str
    level: Level
    reason: str
    fix: str

    def finding(self, broken: Broken) -> Finding:
        """What the rule says of one breach."""
        return Finding(
            rule=self.id,
            level=broken.level or self.level,
            subject=broken.subject,
            reason=broken.reason,
            fix=broken.fix or self.fix,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRule(_Rule):
    """A rule over a stack file and what it was before. once: it is about the edit alone, and over with its merge."""

    check: EditCheck
    once: bool = False

    def judge(self, edit: Edit) -> Iterator[Finding]:
        yield from map(self.finding, self.check(edit))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRule(_Rule):
    """A rule over one resource."""

    check: ResourceCheck

    def judge(self, view: ResourceView, around: ResourceContext) -> Iterator[Finding]:
        yield from map(self.finding, self.check(view, around))
