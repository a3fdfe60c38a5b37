"""How fleets stand and what waits for them: the sections of status and queues.

Pure: equal estates, equal sections. Words are those of the commands that tell the same to a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator

from infra.fleet.status.shape import FleetStatus
from infra.operations.fleet.status_words import headline, status_shown
from infra.operations.jobs_words import state_row
from infra.operations.report.blocks import blocks
from infra.operations.report.estate import Estate
from infra.operations.stacks.work_words import work_shown
from infra.pages.kit import Block, Lack, Lines, Section, Table, Words
from infra.preview.toned import Shown, TextTable
from infra.preview.words import span


def status(estate: Estate) -> Section:
    """How every fleet stands, and what the controller does next."""
    found = estate.statuses
    if isinstance(found, Lack):
        return Section(id="status", title="Status", blocks=(found,))
    if not found:
        lack = Lack("No stack has a VM, and none declares one; `./tidepool up ci` makes the first.")
        return Section(id="status", title="Status", blocks=(lack,))
    well = sum(each.healthy is True for each in found)
    absent = [each.stack for each in found if not each.deployed]
    more = f" Not deployed: {', '.join(absent)}." if absent else ""
    says = f"{well} of {len(found) - len(absent)} stacks are as declared and serve, on {estate.cloud}.{more}"
    return Section(
        id="status", title="Status", says=says, blocks=tuple(part for each in found for part in _standing(each))
    )


def _standing(status: FleetStatus) -> Iterator[Block]:
    _, *shown = status_shown(status, "")
    caption = f"{status.stack}: {health(status)}"
    if not status.pools and status.deployed:
        yield Lines(lines=("No pool of VMs is declared.",), title=caption)
    yield from blocks(shown, caption)


def health(status: FleetStatus) -> str:
    """`all well`, or what is amiss."""
    return str(headline(status, "")).strip().removeprefix(status.stack).partition("  on ")[0].strip()


def queues(estate: Estate) -> Section:
    """Jobs that wait for pools, queues of clusters, and training jobs."""
    found = estate.statuses
    fleets = () if isinstance(found, Lack) else found
    rows = tuple(
        (fleet.stack, pool.pool, "?" if pool.queue.waiting is None else str(pool.queue.waiting),
         span(fleet.at - pool.queue.oldest) if pool.queue.oldest else "-", pool.queue.reason or "-")
        for fleet in fleets for pool in fleet.pools if pool.queue.waiting != 0
    )  # fmt: skip
    head = ("Stack", "Pool", "Jobs that wait", "Longest", "Why not known")
    shown = slice(None) if any(row[-1] != "-" for row in rows) else slice(-1)
    waits = Table(
        caption="Jobs of workflows",
        head=head[shown],
        rows=tuple(row[shown] for row in rows),
        numbers=frozenset((2,)),
    )
    lost = [
        (each.repository, each.job, ", ".join(each.labels), str(each.waiting), each.why)
        for fleet in fleets
        for each in fleet.unserved
    ]
    unserved = Table(
        caption="Jobs that no pool takes",
        head=("Repository", "Job", "Labels", "Waiting", "Why"),
        rows=tuple(lost),
        numbers=frozenset((3,)),
    )
    return Section(
        id="queues",
        title="Queues and waits",
        says=f"{waiting(estate)} for a runner." if waiting(estate) != "?" else "",
        blocks=(
            *((found,) if isinstance(found, Lack) else ()),
            *((waits,) if rows else ()),
            *((unserved,) if lost else ()),
            *_works(estate),
            *_jobs(estate),
        ),
    )


def waiting(estate: Estate) -> str:
    """`3 jobs wait`, those that no pool takes with them; a question mark where a queue is not known."""
    fleets = estate.statuses
    if isinstance(fleets, Lack) or any(pool.queue.waiting is None for each in fleets for pool in each.pools):
        return "?"
    pools = sum(pool.queue.waiting or 0 for each in fleets for pool in each.pools)
    count = pools + sum(jobs.waiting for each in fleets for jobs in each.unserved)
    return "1 job waits" if count == 1 else f"{count} jobs wait"


def _works(estate: Estate) -> Iterator[Block]:
    """Queues of clusters, and the Dask classes and groups that have an image: a row each, with all that is said."""
    known = [each for each in estate.works if not isinstance(each, Lack)]
    rows = [_work_row(list(work_shown(each))) for each in known if each.seen is not None or each.kind == "queue"]
    if rows:
        head = ("What", "How it stands", "More")
        yield Table(caption="Queues and work of clusters", head=head, rows=tuple(rows))
    yield from dict.fromkeys(each for each in estate.works if isinstance(each, Lack))


def _work_row(shown: list[Shown]) -> tuple[Words, ...]:
    """The heading that `why` says of it, and what stands below."""
    first, *rest = shown
    name, _, more = str(first).partition("  ")
    lines = [str(each).strip() for each in rest if not isinstance(each, TextTable)]
    return name, more, "; ".join(filter(None, lines))


def _jobs(estate: Estate) -> Iterator[Block]:
    if isinstance(estate.jobs, Lack):
        yield estate.jobs
    elif not estate.jobs:
        yield Lack("No training job is known; `./tidepool jobs submit` begins one.")
    else:
        head = ("Job", "State", "Slices", "Queue", "Interrupted", "Failures", "Made")
        rows = tuple(state_row(each) for each in estate.jobs)
        yield Table(caption="Training jobs", head=head, rows=rows, numbers=frozenset((4, 5)))
