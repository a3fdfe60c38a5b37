"""What images are built from: the pin table, what registries answer about it, and the table with answers written in.

Owns who is asked and what becomes of no answer. The comparison is `infra.model.images.answers`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.fleet.images.oci import OciRegistry, RegistryError, Resolver
from infra.model.clock import machine_clock  # noqa: TID251 - a committed file names a day of the world, not of a local cloud
from infra.model.images.answers import PinAnswer, PinFinding, PinOutcome, answers_json, compare, parse_answers, written
from infra.model.images.pins import PINS_FILE, Base, Download, Pins, load_pins
from infra.model.json_shape import JsonShape
from infra.model.yamlfile import decoded
from infra.operations.errors import Refusal
from infra.operations.workspace import workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(JsonShape):
    """The pin table of a checkout, and the entries that an operation is about."""

    JSON = ("bases", "downloads", "unresolved")

    root: Path
    pins: Pins
    chosen: tuple[str, ...]

    @property
    def bases(self) -> dict[str, Base]:
        return {name: base for name, base in self.pins.bases.items() if name in self.chosen}

    @property
    def downloads(self) -> dict[str, Download]:
        return {name: each for name, each in self.pins.downloads.items() if name in self.chosen}

    @property
    def unresolved(self) -> tuple[str, ...]:
        """Entries that builds refuse."""
        return self.pins.unresolved(self.chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(JsonShape):
    """What was answered about a table. failures: why there is no answer, a line each."""

    JSON = ("file.*", "findings", "failures")

    answers: tuple[PinAnswer, ...]
    findings: tuple[PinFinding, ...]
    failures: tuple[str, ...]

    @property
    def differing(self) -> tuple[PinFinding, ...]:
        return tuple(each for each in self.findings if each.differs)

    @property
    def changed(self) -> tuple[PinFinding, ...]:
        """Downloads of a stated version with other bytes, which are never written."""
        return tuple(each for each in self.findings if each.outcome is PinOutcome.CHANGED)

    @property
    def file(self) -> dict[str, Any]:
        """What `check` reads on another machine."""
        return answers_json(self.answers)


def table(names: Iterable[str] = (), *, only_unresolved: bool = False) -> Table:
    """The entries named; where none are, all, or those that are unresolved. Refusal for a name that there is not."""
    root = workspace().root
    pins = load_pins(root)
    known = sorted({*pins.bases, *pins.downloads})
    for name in names:
        if name not in known:
            raise Refusal(f"{PINS_FILE} has no entry {name}; it has {', '.join(known)}")
    chosen = tuple(sorted(names)) or (pins.unresolved() if only_unresolved else tuple(known))
    return Table(root=root, pins=pins, chosen=chosen)


def ask(table: Table, tell: Callable[[str], None]) -> Compared:
    """Ask the registries about each entry. tell: is given each name before it is asked for."""
    answers: list[PinAnswer] = []
    failures: list[str] = []
    asked = resolver()
    for name in table.chosen:
        tell(name)
        try:
            answers.append(asked.answer(table.pins, name))
        except RegistryError as error:
            failures.append(str(error))
    return _compared(table, answers, failures)


def check(table: Table, file: Path) -> Compared:
    """The same from a file of answers; an entry without one is told."""
    read = parse_answers(decoded(file.read_bytes(), str(file)), table.pins, str(file))
    answers = {each.name: each for each in read if each.name in table.chosen}
    missing = [f"{name}: {file} has no answer" for name in table.chosen if name not in answers]
    return _compared(table, answers.values(), missing)


def write(table: Table, findings: Iterable[PinFinding]) -> bool:
    """Write answers into the table's file; whether that changed it."""
    path = table.root / PINS_FILE
    before = path.read_text()
    after = written(before, findings)
    if after != before:
        path.write_text(after)
    return after != before


def resolver() -> Resolver:
    """Who asks the world. GITHUB_TOKEN is for packages of GHCR that are not public."""
    registries = OciRegistry(token=os.environ.get("GITHUB_TOKEN") or None)
    return Resolver(today=lambda: machine_clock().date(), registries=registries)


def _compared(table: Table, answers: Iterable[PinAnswer], failures: Iterable[str]) -> Compared:
    found = tuple(answers)
    return Compared(answers=found, findings=compare(table.pins, found), failures=tuple(failures))
