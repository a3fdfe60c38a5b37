"""`./tidepool images bases`: what images are built from, what is newer, and the one command that fills in a pin."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli import options
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say, show
from infra.fleet.images.oci import OciRegistry, RegistryError
from infra.fleet.images.resolve import Resolver
from infra.model.images.answers import Answer, Finding, Outcome, answers_json, compare, parse_answers, written
from infra.model.images.pins import PINS_FILE, RESOLVE, Pins, load_pins
from infra.model.yamlfile import decoded
from infra.operations.errors import Refusal
from infra.operations.workspace import workspace

_DIGITS = 12

_MEANINGS = {
    Outcome.SAME: "as pinned",
    Outcome.RESOLVED: "now known",
    Outcome.NEWER: "the tag names a newer image",
    Outcome.CHANGED: "OTHER BYTES at the same address: look before anything is built from it",
}


@click.command(name="bases", short_help="Say what images are built from, and propose newer ones.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--ask", is_flag=True, help="Ask the registries what is newer; write nothing.")
@click.option(
    "--check",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="The same from what --ask --json printed on another machine.",
)
@click.option("--resolve", is_flag=True, help="Ask and write: what is unresolved, or the entries that are named.")
@options.json_option
@click.pass_context
def command(
    ctx: click.Context, *, names: tuple[str, ...], ask: bool, check: Path | None, resolve: bool, as_json: bool
) -> None:
    """Say what images/bases.yaml pins: base images by digest, downloads by checksum, each with its public source.

    --ask and --resolve need internet. --resolve writes digest or checksum, source and day, and leaves all else as it
    stands. A download whose bytes changed is never written: its version says that they do not.

    Exit code 0 when all is pinned as it is today, 1 when an entry is unresolved, differs or got no answer.
    """
    if sum((ask, check is not None, resolve)) > 1:
        raise Refusal("say one of --ask, --check FILE and --resolve")
    root, console = workspace().root, people(as_json=as_json)
    pins = load_pins(root)
    chosen = _chosen(pins, names, unresolved=resolve)
    if not (ask or check or resolve):
        ctx.exit(_list(pins, chosen, console, as_json=as_json))
    answers, failures = _read(check, pins, chosen) if check else _ask(pins, chosen, console)
    findings = compare(pins, answers)
    show(console, _findings(findings))
    for failure in failures:
        say(console, Text(failure, style="red"))
    open_ones = [each for each in findings if each.differs]
    if resolve:
        _write(root / PINS_FILE, findings, console)
        open_ones = [each for each in open_ones if each.outcome is Outcome.CHANGED]
    elif open_ones:
        say(console, f"to take them over: {RESOLVE} {' '.join(each.answer.name for each in open_ones)}")
    code = FAILED if failures or open_ones else 0
    if as_json:
        told = {"findings": [each.to_json() for each in findings], "failures": failures, "exit": code}
        machines(answers_json(answers) | told)
    ctx.exit(code)


def resolver() -> Resolver:
    """Who asks the world. GITHUB_TOKEN is for packages of GHCR that are not public."""
    registries = OciRegistry(token=os.environ.get("GITHUB_TOKEN") or None)
    return Resolver(today=lambda: datetime.now(UTC).date(), registries=registries)


def _chosen(pins: Pins, names: Iterable[str], *, unresolved: bool) -> tuple[str, ...]:
    """The entries named; where none are, those that are unresolved or all."""
    known = sorted({*pins.bases, *pins.downloads})
    for name in names:
        if name not in known:
            raise Refusal(f"{PINS_FILE} has no entry {name}; it has {', '.join(known)}")
    return tuple(sorted(names)) or (pins.unresolved() if unresolved else tuple(known))


def _list(pins: Pins, chosen: Iterable[str], console: Console, *, as_json: bool) -> int:
    bases = {name: base for name, base in pins.bases.items() if name in chosen}
    downloads = {name: download for name, download in pins.downloads.items() if name in chosen}
    table = _table("entry", "what", "pinned", "read")
    for name, base in bases.items():
        table.add_row(name, f"{base.image}:{base.tag}", _short(base.digest), base.read.isoformat())
    for name, download in downloads.items():
        table.add_row(name, download.version, _short(download.sha256), download.read.isoformat())
    show(console, table)
    unresolved = pins.unresolved(chosen)
    if unresolved:
        say(console, f"{len(unresolved)} unresolved, which builds refuse; where there is internet: {RESOLVE}")
    code = FAILED if unresolved else 0
    if as_json:
        entries = {
            "bases": {name: dict(base) | {"read": base.read.isoformat()} for name, base in bases.items()},
            "downloads": {name: dict(each) | {"read": each.read.isoformat()} for name, each in downloads.items()},
        }
        machines(entries | {"unresolved": list(unresolved), "exit": code})
    return code


def _read(file: Path, pins: Pins, chosen: Iterable[str]) -> tuple[list[Answer], list[str]]:
    """Answers of a file about the chosen entries; an unresolved entry without one is told."""
    answers = {
        each.name: each
        for each in parse_answers(decoded(file.read_bytes(), str(file)), pins, str(file))
        if each.name in chosen
    }
    missing = [f"{name}: {file} has no answer" for name in chosen if name not in answers]
    return list(answers.values()), missing


def _ask(pins: Pins, chosen: Iterable[str], console: Console) -> tuple[list[Answer], list[str]]:
    """What the registries answer, and what kept the others from answering."""
    answers: list[Answer] = []
    failures: list[str] = []
    asked = resolver()
    for name in chosen:
        say(console, Text(f"asking for {name}", style="dim"))
        try:
            answers.append(asked.answer(pins, name))
        except RegistryError as error:
            failures.append(str(error))
    return answers, failures


def _write(path: Path, findings: Iterable[Finding], console: Console) -> None:
    before = path.read_text()
    after = written(before, findings)
    if after == before:
        say(console, f"{PINS_FILE} stays as it is")
        return
    path.write_text(after)
    say(console, f"wrote {PINS_FILE}; what it rebuilds: ./tidepool images plan --base HEAD")


def _findings(findings: Iterable[Finding]) -> Table:
    table = _table("entry", "pinned", "today", "")
    for each in findings:
        style = "red" if each.outcome is Outcome.CHANGED else ""
        answered = _short(each.answer.value) if each.differs else ""
        table.add_row(each.answer.name, _short(each.pinned), answered, _MEANINGS[each.outcome], style=style)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _short(value: str) -> str:
    kind, colon, digits = value.rpartition(":")
    return f"{kind}{colon}{digits[:_DIGITS]}"
