"""`./tidepool images plan --changed FILE...`: what a change of files rebuilds, in which order, and why."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.render.console import people, say, show
from infra.model.errors import ConfigError
from infra.model.images.pins import PINS_FILE, Pins, parse_pins
from infra.model.images.reading import Written, parsed
from infra.model.images.rebuilds import Before, Change, Rebuild, rebuilds
from infra.model.images.spec import SPEC_FILE, ImageSpec
from infra.operations.errors import Refusal
from infra.operations.images.lab import Lab, declared


@click.command(name="plan", short_help="Say what a change of files rebuilds, in which order, and why.")
@click.option(
    "--changed",
    multiple=True,
    metavar="FILE...",
    help="Files that change, from the repository's top; - reads their names, one a line.",
)
@click.argument("more", nargs=-1, metavar="")
@click.option("--repository", metavar="OWNER/NAME", help="Whose files they are; this project's where not given.")
@click.option("--base", metavar="REF", help="Take the files that differ from this commit in this checkout, by git.")
@options.json_option
def command(
    *, changed: tuple[str, ...], more: tuple[str, ...], repository: str | None, base: str | None, as_json: bool
) -> None:
    """Say which images a change rebuilds: parents before children, each with the reason, its builder and its places.

    With --base the tables of pins and images are compared entry by entry, so that an edit of one entry rebuilds only
    the images that use it. Reads this checkout alone. With --json a list.
    """
    if more and not changed:
        raise Refusal(f"say what {more[0]} is: --changed {' '.join(more)}")
    if bool(changed) == bool(base):
        raise Refusal("say what changed: either --changed FILE..., or --base REF")
    lab = declared()
    where = lab.repository(repository) if repository else lab.spec.recipes
    if base and where != lab.spec.recipes:
        raise Refusal(f"--base looks at this checkout, which is {lab.spec.recipes}; name files of others by --changed")
    files = _differing(lab.root, base) if base else _named((*changed, *more))
    changes = [Change(where, file.removeprefix("./")) for file in files]
    found = rebuilds(lab.spec, changes, lab.stacks, _before(lab, base) if base else None)
    console = people(as_json=as_json)
    if found:
        show(console, _table(found))
    else:
        count = f"{len(files)} files" if len(files) != 1 else "1 file"
        say(console, Text(f"{count} of {where}: no image is rebuilt"))
        for other in () if repository or base else sorted({each.context.repository for each in lab.spec.images}):
            if rebuilds(lab.spec, [replace(each, repository=other) for each in changes], lab.stacks, None):
                say(console, Text(f"in {other} such a change rebuilds images: --repository {other}"))
    if as_json:
        echo(json.dumps([asdict(each) for each in found], indent=2))


def _named(files: tuple[str, ...]) -> tuple[str, ...]:
    """The files, with those of standard input in place of a hyphen: a command line holds only so many."""
    if "-" not in files:
        return files
    lines = sys.stdin.buffer.read().decode(errors="replace").splitlines()
    return (*(each for each in files if each != "-"), *(line for line in lines if line))


def _table(found: tuple[Rebuild, ...]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("image", no_wrap=True)
    table.add_column("builder", no_wrap=True)
    table.add_column("places", justify="right", no_wrap=True)
    table.add_column("why", overflow="fold")
    for number, each in enumerate(found, start=1):
        table.add_row(str(number), each.image, each.builder.value, str(len(each.targets)), each.reason)
    return table


def _before(lab: Lab, base: str) -> Before:
    """The two tables at the other commit, as far as this program can read what they said."""
    return Before(
        spec=_spec(_at(lab.root, base, SPEC_FILE)), pins=_pins(_at(lab.root, base, PINS_FILE)), pins_now=lab.pins
    )


def _spec(text: str | None) -> ImageSpec | None:
    try:
        written = Written.read(text or "", SPEC_FILE)
    except ConfigError:
        return None
    return parsed(ImageSpec, written.data, written.subject)[0]


def _pins(text: str | None) -> Pins | None:
    try:
        return parse_pins(text or "")
    except ConfigError:
        return None


def _differing(root: Path, base: str) -> tuple[str, ...]:
    """Files of the working tree that differ from the commit where HEAD and `base` parted, new ones included."""
    parted = _parted(root, base)
    if parted is None:
        raise Refusal(f"{base!r} is no commit that this checkout has in common with HEAD; a clone of depth 1 lacks it")
    differing = _git(root, "diff", "--name-only", "--no-renames", "-z", parted) or ""
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z") or ""
    return tuple(sorted({each for each in f"{differing}\0{new}".split("\0") if each}))


def _at(root: Path, base: str, path: str) -> str | None:
    return _git(root, "show", f"{_parted(root, base)}:{path}")


def _parted(root: Path, base: str) -> str | None:
    """The commit where HEAD and `base` parted; None where they have none in common. No base is an option of git's."""
    parted = _git(root, "merge-base", "--end-of-options", base, "HEAD")
    return parted.strip() if parted else None


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            check=False, capture_output=True, text=True, errors="replace",  # the name of a file is bytes
        )  # fmt: skip
    except FileNotFoundError:
        raise Refusal("git is not installed; name files by --changed") from None
    return done.stdout if done.returncode == 0 else None
