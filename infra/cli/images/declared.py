"""`./tidepool images plan`, `bases`, `listing` and `show`: what the files of this checkout say of images."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import yaml
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say, show
from infra.cli.render.images import findings_table, pins_table, rebuilds_table
from infra.model.images.pins import PINS_FILE, RESOLVE
from infra.operations.errors import Refusal
from infra.operations.images import builds, changes, listings, pins
from infra.operations.images.lab import declared


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
def plan_command(
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
    lab, console = declared(), people(as_json=as_json)
    if base:
        found = changes.since(lab, base, repository)
    else:
        found = changes.by_files(lab, _named((*changed, *more)), repository)
    if found.images:
        show(console, rebuilds_table(found.images))
    else:
        count = f"{len(found.files)} files" if len(found.files) != 1 else "1 file"
        say(console, f"{count} of {found.repository}: no image is rebuilt")
        for other in found.elsewhere:
            say(console, f"in {other} such a change rebuilds images: --repository {other}")
    if as_json:
        echo(json.dumps(found.to_json(), indent=2))


def _named(files: tuple[str, ...]) -> tuple[str, ...]:
    """The files, with those of standard input in place of a hyphen: a command line holds only so many."""
    if "-" not in files:
        return files
    lines = sys.stdin.buffer.read().decode(errors="replace").splitlines()
    return (*(each for each in files if each != "-"), *(line for line in lines if line))


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
def bases_command(
    ctx: click.Context, *, names: tuple[str, ...], ask: bool, check: Path | None, resolve: bool, as_json: bool
) -> None:
    """Say what images/bases.yaml pins: base images by digest, downloads by checksum, each with its public source.

    --ask and --resolve need internet. --resolve writes digest or checksum, source and day, and leaves all else as it
    stands. A download whose bytes changed is never written: its version says that they do not.

    Exit code 0 when all is pinned as it is today, 1 when an entry is unresolved, differs or got no answer.
    """
    if sum((ask, check is not None, resolve)) > 1:
        raise Refusal("say one of --ask, --check FILE and --resolve")
    console = people(as_json=as_json)
    table = pins.table(names, only_unresolved=resolve)
    if not (ask or check or resolve):
        ctx.exit(_list(table, console, as_json=as_json))
    found = pins.check(table, check) if check else pins.ask(table, lambda name: _asking(console, name))
    show(console, findings_table(found.findings))
    for failure in found.failures:
        say(console, Text(failure, style="red"))
    open_ones = found.differing
    if resolve:
        wrote = pins.write(table, found.findings)
        what = f"wrote {PINS_FILE}; what it rebuilds: ./tidepool images plan --base HEAD"
        say(console, what if wrote else f"{PINS_FILE} stays as it is")
        open_ones = found.changed
    elif open_ones:
        say(console, f"to take them over: {RESOLVE} {' '.join(each.answer.name for each in open_ones)}")
    code = FAILED if found.failures or open_ones else 0
    if as_json:
        machines(found.to_json() | {"exit": code})
    ctx.exit(code)


def _asking(console: Console, name: str) -> None:
    say(console, Text(f"asking for {name}", style="dim"))


def _list(table: pins.Table, console: Console, *, as_json: bool) -> int:
    show(console, pins_table(table.bases, table.downloads))
    if table.unresolved:
        say(console, f"{len(table.unresolved)} unresolved, which builds refuse; where there is internet: {RESOLVE}")
    code = FAILED if table.unresolved else 0
    if as_json:
        machines(table.to_json() | {"exit": code})
    return code


@click.command(name="listing", short_help="List another repository's files for the check of path filters.")
@click.argument("repository", metavar="OWNER/NAME")
@click.option(
    "--checkout",
    required=True,
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIR",
    help="A working copy of that repository.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if the listing would have other files.")
@options.json_option
@click.pass_context
def listing_command(ctx: click.Context, *, repository: str, checkout: Path, check: bool, as_json: bool) -> None:
    """Write images/listings/OWNER.NAME.txt: of each path filter over that repository some files that it names.

    By it path filters are checked where no working copy is at hand. Reads the commit that DIR has checked out, and
    refuses a filter that names none of its files.
    """
    found = listings.listing(repository, checkout)
    code = FAILED if check and not found.is_committed() else 0
    if not check:
        found.write()
    wrote = f"has {len(found.paths)} files of {found.commit[:12]}"
    verb = ("would have other files" if code else "is right") if check else wrote
    say(people(as_json=as_json), f"{found.file} {verb}")
    if as_json:
        machines({"repository": repository, "commit": found.commit, "paths": list(found.paths), "exit": code})
    ctx.exit(code)


@click.command(name="show", short_help="Print the build that is generated for an image.")
@click.argument("image")
@options.json_option
def show_command(*, image: str, as_json: bool) -> None:
    """Print what builds IMAGE and its descendants: the Cloud Build config of its trigger, or its jobs of the GitHub
    workflow. YAML, or with --json an object.
    """
    lab = declared()
    wanted = lab.image(image)
    body = builds.generated(lab, wanted)
    if as_json:
        machines({"image": wanted.name, "builder": wanted.builder.value, "build": body})
    else:
        echo(yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=1000), nl=False)


class _Dumper(yaml.SafeDumper):
    """Scripts as blocks, line by line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
