"""All that is known of the estate at one moment, by the operations that tell it each.

Owns that a source which does not answer hides no other: what it would have told is a `Lack`, a sentence with the next
command. Computes nothing; how it is shown is `fleet_sections` and `work_sections`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias, TypeVar

from infra.fleet.status.shape import FleetStatus
from infra.jobs.client import JobState
from infra.model.demand import Demands, load_demands
from infra.model.errors import ConfigError, EngineError, OutsideError
from infra.model.ledger import LimitAccount, accounts
from infra.model.schema import StackConfig
from infra.model.unclaimed import Misfit
from infra.model.usage import MonthCost
from infra.model.week import Week
from infra.operations import money
from infra.operations.declared.images import declared as declared_images
from infra.operations.declared.known import Named, names
from infra.operations.declared.stack_file import declared, known_stacks
from infra.operations.errors import Failure, Interruption
from infra.operations.fleet.looks import settled_at
from infra.operations.fleet.pools import PoolState, pools_now
from infra.operations.fleet.status import Statuses
from infra.operations.images.lab import at_work
from infra.operations.images.state import ImageStanding, standing, warnings
from infra.operations.jobs import open_jobs
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.results import open_results, read_board
from infra.operations.session import CloudSession, clock_of, open_cloud
from infra.operations.stacks.calendar import calendar
from infra.operations.stacks.explain import explain_edit, explain_working_tree, read_facts
from infra.operations.stacks.history import Told, recent
from infra.operations.stacks.work import WorkStanding, work_standing
from infra.operations.workflows.check import fitting
from infra.operations.workspace import RESULTS, workspace
from infra.pages.kit import Lack
from infra.preview.meaning import Meaning
from infra.results.board import Board

T = TypeVar("T")
Asked: TypeAlias = T | Lack
MONTHS: Final = 3
"""Of money: this month and those before it."""
_WORKS: Final = frozenset((Named.DASK, Named.GROUP, Named.QUEUE))
_CHANGES: Final = 10
"""Operations of one stack that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagesSeen:
    """Images and what keeps some from being built, as sentences."""

    images: tuple[ImageStanding, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowsSeen:
    """What workflows ask of the fleet, and what of it does not fit."""

    demands: Demands
    misfits: tuple[Misfit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estate:
    """What is known of every stack. cloud: where it was looked at, in words.

    stacks: those whose files can be read. limits: each once, whichever stacks declare it. meanings: of what the working
    tree says otherwise than the last commit, with all that rules find; None of a stack that is not there.
    """

    made: datetime
    cloud: Asked[str]
    stacks: Mapping[str, StackConfig]
    unread: tuple[Lack, ...]
    pools: Mapping[str, Asked[tuple[PoolState, ...]]]
    limits: tuple[LimitAccount, ...]
    week: Asked[Week]
    statuses: Asked[tuple[FleetStatus, ...]]
    images: Asked[ImagesSeen]
    workflows: Asked[WorkflowsSeen]
    works: tuple[Asked[WorkStanding], ...]
    jobs: Asked[tuple[JobState, ...]]
    money: Mapping[str, Asked[tuple[MonthCost, ...]]]
    board: Asked[Board]
    meanings: Mapping[str, Asked[Meaning | None]]
    changes: Mapping[str, Asked[tuple[Told, ...]]]

    def is_deployed(self, stack: str) -> bool:
        """False where it is known that nothing of a stack is published."""
        return isinstance(self.statuses, Lack) or all(each.deployed for each in self.statuses if each.stack == stack)


def asked(what: str, ask: Callable[[], T], fill: str) -> T | Lack:
    """What an operation tells, or why it tells nothing.

    what: the subject of that sentence, with its verb. fill: the command that would make it known, said where the
    operation itself names none.
    """
    try:
        return ask()
    except Interruption:
        raise
    except ConfigError as error:
        first = error.problems[0]
        return Lack(f"{what} not known: {first.subject}: {first.rule}. `./tidepool validate` says every mistake.")
    except (Failure, EngineError, OutsideError, OSError) as error:
        said = str(error).strip().removesuffix(".")
        return Lack(f"{what} not known: {said}." + ("" if "`" in said else f" `./tidepool {fill}` would make it so."))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """Where to ask: the cloud, or why there is none."""

    session: Asked[CloudSession]
    now: datetime
    cloud: CloudName | None
    teller: Teller

    def on_cloud(self, what: str, ask: Callable[[CloudSession], T], fill: str) -> T | Lack:
        session = self.session
        return session if isinstance(session, Lack) else asked(what, lambda: ask(session), fill)


def look(cloud: CloudName | None = None, teller: Teller = SILENT, now: datetime | None = None) -> Estate:
    """Ask every source once, as of one moment. now: the cloud's present where not given."""
    files = {
        name: asked(f"The stack {name} is", lambda name=name: declared(name), "validate") for name in known_stacks()
    }
    right = {name: file for name, file in files.items() if not isinstance(file, Lack)}
    configs = {name: file.config for name, file in right.items()}
    session = asked("The cloud is", lambda: open_cloud(cloud, teller), "doctor")
    if now is None and not isinstance(session, Lack):
        now = settled_at(session.endpoint, session.clock)
    now = now or clock_of(cloud or CloudName.GOOGLE, None)()
    to = _Asking(session=session, now=now, cloud=cloud, teller=teller)
    return Estate(
        made=now,
        cloud=session if isinstance(session, Lack) else session.cloud.said,
        stacks=configs,
        unread=tuple(each for each in files.values() if isinstance(each, Lack)),
        pools={name: _pools(to, config) for name, config in configs.items()},
        limits=_limits({name: accounts(file.config, file.siblings) for name, file in right.items()}),
        week=asked("The days ahead are", lambda: calendar(tuple(configs), now.date()), "calendar"),
        statuses=to.on_cloud("The status is", lambda _: Statuses(cloud=cloud, teller=teller).look(now), "status"),
        images=to.on_cloud("Images are", lambda _: _images(to), "images list"),
        workflows=asked("What workflows ask is", _workflows, "workflows --check"),
        works=tuple(each for name, config in configs.items() if config.cluster for each in _works(to, name)),
        jobs=asked("Training jobs are", lambda: open_jobs().states(), "jobs list"),
        money={name: _money(to, name) for name in configs},
        board=asked("Results are", lambda: _board(to), "results publish"),
        meanings={
            name: asked(f"What rules find in {name} is", lambda name=name: _meaning(name, now), f"explain {name}")
            for name in configs
        },
        changes={name: _changes(to, config) for name, config in configs.items()},
    )


def _pools(to: _Asking, config: StackConfig) -> Asked[tuple[PoolState, ...]]:
    stack = config.stack
    return to.on_cloud(f"Pools of {stack} are", lambda at: pools_now(config, at.endpoint)[0], f"up {stack}")


def _limits(by_stack: Mapping[str, tuple[LimitAccount, ...]]) -> tuple[LimitAccount, ...]:
    """Each limit once, by zone: accounts count siblings, so that every stack which declares one says the same."""
    found = {(each.limit.zone, str(each.limit)): each for every in by_stack.values() for each in every}
    return tuple(each for _, each in sorted(found.items(), key=lambda pair: pair[0]))


def _images(to: _Asking) -> ImagesSeen:
    lab = declared_images()
    with at_work(lab, to.cloud, to.teller) as work:
        found = standing(work, lab.spec.order())
        return ImagesSeen(images=found, warnings=tuple(warnings(lab, found, to.now.date())))


def _workflows() -> WorkflowsSeen:
    root = workspace().root
    demands = load_demands(root)
    if demands is None:
        raise Failure("no file says it yet; `./tidepool workflows --write` writes it")
    return WorkflowsSeen(demands=demands, misfits=fitting(root, None))


def _works(to: _Asking, stack: str) -> Iterator[Asked[WorkStanding]]:
    """Up to the first that is not known: the others are not for the same reason."""
    for name in names(_WORKS, stack):
        found = to.on_cloud(
            f"How {name} of {stack} stands is",
            lambda _, name=name: work_standing(name, stack=stack, cloud=to.cloud, teller=to.teller),
            f"up {stack}",
        )
        if isinstance(found, Lack):
            yield found
            return
        yield from found


def _money(to: _Asking, stack: str) -> Asked[tuple[MonthCost, ...]]:
    return to.on_cloud(f"The money of {stack} is", lambda _: _months(to, stack), f"up {stack}")


def _months(to: _Asking, stack: str) -> tuple[MonthCost, ...]:
    """The latest months, oldest first; of those that are over, where anything was spent. None of a stack without a
    bucket."""
    first, found = to.now, list[MonthCost]()
    try:
        for _ in range(MONTHS):
            found.append(money.cost(stack, f"{first:%Y-%m}", to.cloud, to.teller, to.now))
            first = first.replace(day=1) - timedelta(days=1)
    except money.NotUp:
        return ()
    return tuple(each for each in reversed(found) if each.total.vms or each.forecast is not None)


def _board(to: _Asking) -> Board:
    with open_results(os.environ.get(RESULTS, ""), to.cloud, to.teller) as place:
        return read_board(replace(place, now=to.now))


def _meaning(stack: str, now: datetime) -> Meaning | None:
    """Where there is no commit, of the file beside itself: no edit, and what rules find."""
    path = workspace().root / "stacks" / f"Pulumi.{stack}.yaml"
    known = read_facts(None, now)
    return explain_working_tree(stack, None, known) or explain_edit(stack, str(path), None, known)


def _changes(to: _Asking, config: StackConfig) -> Asked[tuple[Told, ...]]:
    return to.on_cloud(
        f"The history of {config.stack} is",
        lambda at: recent(workspace().root, config, at, _CHANGES),
        f"up {config.stack}",
    )
