"""`./tidepool images plan`, `bases`, `listing` and `show`: what the files of this checkout say of images."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.echo import echo, machines
from infra.model import json_shape
from infra.model.images import pins as image_pins
from infra.operations.declared import images as declarations
from infra.operations.errors import Refusal
from infra.operations.images import builds, changes, pins
from infra.preview import image_words
from infra.preview.toned import Tone


@click.command()
@click.option(
    "--changed", multiple=True, metavar="FILE...",
    help="Files that change, from the repository's top; - reads their names, one a line.",
)  # fmt: skip
@click.argument("more", nargs=-1, metavar="")
@click.option("--repository", metavar="OWNER/NAME", help="Whose files they are; this project's where not given.")
@click.option("--base", metavar="REF", help="Take the files that differ from this commit in this checkout, by git.")
@options.json_option
@called
def plan_command(
    call: Invocation, *, changed: tuple[str, ...], more: tuple[str, ...], repository: str | None, base: str | None
) -> None:
    """Say which images a change rebuilds: parents before children, each with the reason, its builder and its places.

    With --base the tables of pins and images are compared entry by entry, so that an edit of one entry rebuilds only
    the images that use it. Reads this checkout alone. With --json a list.
    """
    if more and not changed:
        raise Refusal(f"say what {more[0]} is: --changed {' '.join(more)}")
    if bool(changed) == bool(base):
        raise Refusal("say what changed: either --changed FILE..., or --base REF")
    lab = declarations.declared()
    if base:
        found = changes.since(lab, base, repository)
    else:
        found = changes.by_files(lab, _named((*changed, *more)), repository)
    if found.images:
        call.say(image_words.rebuilds_table(found.images))
    else:
        count = f"{len(found.files)} files" if len(found.files) != 1 else "1 file"
        call.say(f"{count} of {found.repository}: no image is rebuilt")
        call.say(*(f"in {other} such a change rebuilds images: --repository {other}" for other in found.elsewhere))
    if call.as_json:
        echo(json.dumps(json_shape.plain(found.images), indent=2))


def _named(files: tuple[str, ...]) -> tuple[str, ...]:
    """The files, with those of standard input in place of a hyphen: a command line holds only so many."""
    if "-" not in files:
        return files
    lines = sys.stdin.buffer.read().decode(errors="replace").splitlines()
    return (*(each for each in files if each != "-"), *(line for line in lines if line))


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--ask", is_flag=True, help="Ask the registries what is newer; write nothing.")
@click.option(
    "--check", type=options.A_FILE_THERE, metavar="FILE",
    help="The same from what --ask --json printed on another machine.",
)  # fmt: skip
@click.option("--resolve", is_flag=True, help="Ask and write: what is unresolved, or the entries that are named.")
@options.json_option
@called
def bases_command(call: Invocation, *, names: tuple[str, ...], ask: bool, check: Path | None, resolve: bool) -> int:
    """Say what images/bases.yaml pins: base images by digest, downloads by checksum, each with its public source.

    --ask and --resolve need internet. --resolve writes digest or checksum, source and day, and leaves all else as it
    stands. A download whose bytes changed is never written: its version says that they do not.

    Exit code 0 when all is pinned as it is today, 1 when an entry is unresolved, differs or got no answer.
    """
    if sum((ask, check is not None, resolve)) > 1:
        raise Refusal("say one of --ask, --check FILE and --resolve")
    table = pins.table(names, only_unresolved=resolve)
    if not (ask or check or resolve):
        return _list(call, table)
    asking = partial(call.teller.say, tone=Tone.QUIET)
    found = pins.check(table, check) if check else pins.ask(table, lambda name: asking(f"asking for {name}"))
    call.say(image_words.findings_table(found.findings))
    call.say(*found.failures, tone=Tone.PROBLEM)
    open_ones = found.differing
    if resolve:
        wrote = pins.write(table, found.findings)
        what = f"wrote {image_pins.PINS_FILE}; what it rebuilds: ./tidepool images plan --base HEAD"
        call.say(what if wrote else f"{image_pins.PINS_FILE} stays as it is")
        open_ones = found.changed
    elif open_ones:
        call.say(f"to take them over: {image_pins.RESOLVE} {' '.join(each.answer.name for each in open_ones)}")
    return call.end(found, failed=bool(found.failures or open_ones))


def _list(call: Invocation, table: pins.Table) -> int:
    call.say(image_words.pins_table(table.bases, table.downloads))
    if table.unresolved:
        call.say(
            f"{len(table.unresolved)} unresolved, which builds refuse; where there is internet: {image_pins.RESOLVE}"
        )
    return call.end(table, failed=bool(table.unresolved))


@click.command()
@click.argument("repository", metavar="OWNER/NAME")
@click.option(
    "--checkout", required=True, type=options.A_FOLDER_THERE, metavar="DIR", help="A working copy of that repository."
)
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if the listing would have other files.")
@options.json_option
@called
def listing_command(call: Invocation, *, repository: str, checkout: Path, check: bool) -> int:
    """Write images/listings/OWNER.NAME.txt: of each path filter over that repository some files that it names.

    By it path filters are checked where no working copy is at hand. Reads the commit that DIR has checked out, and
    refuses a filter that names none of its files.
    """
    found = changes.listing(repository, checkout)
    stale = check and not found.is_committed()
    if not check:
        found.write()
    wrote = f"has {len(found.paths)} files of {found.commit[:12]}"
    call.say(f"{found.file} {('would have other files' if stale else 'is right') if check else wrote}")
    return call.end({"repository": repository, "commit": found.commit, "paths": list(found.paths)}, failed=stale)


@click.command()
@click.argument("image")
@options.json_option
def show_command(*, image: str, as_json: bool) -> None:
    """Print what builds IMAGE and its descendants: the Cloud Build config of its trigger, or its jobs of the GitHub
    workflow. YAML, or with --json an object.
    """
    lab = declarations.declared()
    wanted = lab.image(image)
    if as_json:
        machines({"image": wanted.name, "builder": wanted.builder.value, "build": builds.generated(lab, wanted)})
    else:
        echo(builds.generated_text(lab, wanted), nl=False)
