"""The site itself: its sections in order, the file, and a server for it on loopback.

Owns what stands first. What each section says is `capacity_sections`, `fleet_sections` and `work_sections`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from infra.fleet.status.shape import FleetState, FleetStatus
from infra.model.json_shape import JsonShape
from infra.operations.errors import Refusal
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.report import capacity_sections, fleet_sections, work_sections
from infra.operations.report.estate import Estate, look
from infra.operations.workspace import workspace
from infra.pages.kit import MADE_HERE, Card, Cards, Lack, Said, Section, Tone, page
from infra.tools import collector
from infra.tools.files import write_whole

NAME: Final = "index.html"
_LOOPBACK: Final = "127.0.0.1"
_CARDS: Final = 6
"""Stacks that have a card of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site(JsonShape):
    """What was written. lacks: what is not known, as sentences with the command that would tell it, by section."""

    JSON = ("page", "bytes", "made", "sections", "lacks")

    path: Path
    bytes: int
    made: datetime
    sections: tuple[str, ...]
    lacks: dict[str, tuple[str, ...]]

    @property
    def page(self) -> str:
        return str(self.path)

    @property
    def lines(self) -> tuple[str, ...]:
        """For people: where it is, and what is not known."""
        unknown = [f"  {section}: {says}" for section, every in self.lacks.items() for says in every]
        return f"wrote {self.page}, {self.bytes / 1000:,.0f} kB", *unknown


def write_site(
    folder: Path | None, cloud: CloudName | None = None, teller: Teller = SILENT, now: datetime | None = None
) -> Site:
    """Look at everything, and write the page. folder: below the home where none is given.

    Refusal where a page stands there that is not one of ours.
    """
    path = ((folder or workspace().home / "report") / NAME).absolute()
    if path.exists() and MADE_HERE not in path.read_text(encoding="utf-8", errors="replace"):
        raise Refusal(f"{path} is a page that Tidepool did not write; name another folder, or move it away")
    estate = look(cloud, teller, now)
    found = sections(estate)
    text = drawn(estate, found)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    return Site(
        path=path,
        bytes=len(text.encode()),
        made=estate.made,
        sections=tuple(each.id for each in found),
        lacks={each.id: each.lacks for each in found if each.lacks},
    )


def drawn(estate: Estate, found: tuple[Section, ...]) -> str:
    """The page. Equal estates, equal bytes."""
    where = "a cloud that did not answer" if isinstance(estate.cloud, Lack) else estate.cloud
    return page("The estate", f"{_stacks(estate)}, on {where}. Made {estate.made:%d %B %Y, %H:%M} UTC.", found)


def sections(estate: Estate) -> tuple[Section, ...]:
    """All of the page, what is looked at most first."""
    return (
        _overview(estate),
        work_sections.risks(estate),
        capacity_sections.capacity(estate),
        capacity_sections.ledger(estate),
        capacity_sections.days(estate),
        fleet_sections.status(estate),
        fleet_sections.queues(estate),
        work_sections.workflows(estate),
        work_sections.images(estate),
        work_sections.results(estate),
        work_sections.costs(estate),
        work_sections.changes(estate),
    )


def _stacks(estate: Estate) -> str:
    return f"Stacks {', '.join(estate.stacks)}" if estate.stacks else "No stack"


def _overview(estate: Estate) -> Section:
    """The whole in a few numbers, and a card a stack."""
    chips = capacity_sections.total(capacity_sections.chips_of(estate))
    unknown = isinstance(estate.cloud, Lack) or any(isinstance(each, Lack) for each in estate.pools.values())
    risks = list(work_sections.open_risks(estate))
    calm: Tone = "good" if not risks and work_sections.all_asked(estate) else "warning"
    stops = any(isinstance(row[0], Said) and row[0].tone == "bad" for row in risks)
    cards = (
        Card(title="Chips that stand", said=Said("?" if unknown else chips), link="capacity"),
        Card(title="Spent this month", said=Said(work_sections.spent(estate)), link="money",
             more=(work_sections.forecast(estate),)),
        Card(title="Queues", said=Said(fleet_sections.waiting(estate)), link="queues"),
        Card(title="Open risks", link="risks",
             said=Said(str(len(risks)) if risks else "none", "bad" if stops else calm)),
    )  # fmt: skip
    return Section(
        id="overview",
        title="Overview",
        blocks=(Cards(label="The estate in numbers", cards=cards), *_fleets(estate)),
    )


def _fleets(estate: Estate) -> tuple[Cards, ...]:
    if isinstance(estate.statuses, Lack) or not estate.statuses:
        return ()
    tones: dict[FleetState, Tone] = {FleetState.HEALTHY: "good", FleetState.UNHEALTHY: "bad"}
    tones |= {FleetState.UNKNOWN: "warning", FleetState.BOOTING: "muted", FleetState.NOT_DEPLOYED: "muted"}
    cards = tuple(
        Card(
            title=each.stack,
            said=Said(fleet_sections.health(each), tones[each.state]),
            more=(_declared(each),),
            link="status",
        )
        for each in estate.statuses[:_CARDS]
    )
    return (Cards(label="Stacks", cards=cards),)


def _declared(fleet: FleetStatus) -> str:
    if not fleet.deployed:
        return "nothing of it exists"
    if not fleet.pools:
        return f"cluster {fleet.cluster.name} is {fleet.cluster.state}" if fleet.cluster else "no VM is declared"
    vms = "1 VM" if fleet.desired == 1 else f"{fleet.desired} VMs"
    return f"{vms} in {'1 pool' if len(fleet.pools) == 1 else f'{len(fleet.pools)} pools'}"


def serve(site: Site, say: Callable[[str], None]) -> None:
    """Serve the page on loopback until Ctrl-C, and say where."""
    collector.as_usual()
    body = site.path.read_bytes()

    class OnePage(BaseHTTPRequestHandler):
        """The page at the root and nothing else; asked by another name, as by a foreign page, it answers nothing."""

        def do_GET(self) -> None:
            known = self.headers.get("Host") in (f"{_LOOPBACK}:{port}", f"localhost:{port}")
            found = known and self.path in ("/", f"/{NAME}")
            self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
            self.send_header("Content-Type", "text/html; charset=utf-8" if found else "text/plain")
            self.send_header("Content-Length", str(len(body) if found else 0))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body if found else b"")

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Nothing: one reader on loopback."""

    with suppress(KeyboardInterrupt), ThreadingHTTPServer((_LOOPBACK, 0), OnePage) as server:
        port = server.server_port
        say(f"http://{_LOOPBACK}:{port}/ until Ctrl-C")
        server.serve_forever()
