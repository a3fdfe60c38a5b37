"""`./tidepool images list`, `current`, `promote`, `undo` and `where`: what is recorded, and which digest pools run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial

import click
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.echo import echo
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say, show
from infra.cli.render.images import details, images_table, moved_lines, pools_table, uses_table
from infra.cli.render.teller import ConsoleTeller
from infra.model.images.sources import CONNECT
from infra.operations.errors import Failure
from infra.operations.images import running
from infra.operations.images.lab import at_work, declared
from infra.operations.images.running import Moved
from infra.operations.images.state import record_of, standing
from infra.operations.ports import CloudName


@click.command(name="list", short_help="Say what each image is, where it is, and which pools run it.")
@click.argument("image", required=False)
@options.cloud_option
@options.json_option
@click.pass_context
def list_command(ctx: click.Context, *, image: str | None, cloud: CloudName | None, as_json: bool) -> None:
    """List the images: what each is built from, the record's current digest, whether every place has it, who runs it.

    With IMAGE, all of one: its places one by one, when it is built, its earlier builds. Places are asked, not believed.
    Exit code 1 where a place did not answer.
    """
    lab, console = declared(), people(as_json=as_json)
    wanted = (lab.image(image),) if image else lab.spec.order()
    with at_work(lab, cloud, ConsoleTeller(console)) as work:
        found = standing(work, wanted)
    now = datetime.now(UTC)
    if image:
        for line in details(found[0], now):
            say(console, line)
    else:
        show(console, images_table(found, now))
        say(console, "")
        show(console, pools_table([each.state for each in found], now))
    problems = [problem for each in found for problem in each.problems]
    for problem in problems:
        say(console, Text(f"problem: {problem}", style="bold red"))
    for each in found:
        if each.unresolved:
            said = f"{each.image.name} cannot be built: {', '.join(each.unresolved)} unresolved"
            say(console, Text(said, style="yellow"))
    if unheard := {repository for each in found for repository in each.unconnected}:
        said = f"no push to {' or '.join(sorted(unheard))} starts a build of Cloud Build, which is not connected"
        say(console, Text(f"{said}: {CONNECT}", style="yellow"))
    for over in (each for each in lab.spec.exceptions if each.expires < now.date()):
        said = f"the exception for {over.finding} ended on {over.expires}, and the scan refuses it again: remove it"
        say(console, Text(said, style="yellow"))
    code = FAILED if problems else 0
    if as_json:
        documents = [each.to_json(now) for each in found]
        machines({"record": record_of(lab), "images": documents, "problems": problems, "exit": code})
    ctx.exit(code)


@click.command(name="current", short_help="Print the digest that the record names as current.")
@click.argument("image")
@options.cloud_option
@options.json_option
def current_command(*, image: str, cloud: CloudName | None, as_json: bool) -> None:
    """Print the digest of IMAGE's current build, and nothing else on stdout. With --json the whole build."""
    lab = declared()
    name = lab.image(image).name
    with at_work(lab, cloud, ConsoleTeller(people(as_json=True))) as work:
        current = work.current(name)
    if as_json:
        machines({"image": name, "build": current.model_dump(mode="json")})
    else:
        echo(current.digest)


@click.command(name="promote", short_help="Give a digest to pools.")
@click.argument("image", metavar="IMAGE[@DIGEST]")
@click.option(
    "--pool", "pools", multiple=True, required=True, metavar="POOL", help="Who shall run it; may be repeated."
)
@options.cloud_option
@options.yes_option
@options.json_option
def promote_command(*, image: str, pools: tuple[str, ...], cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Make a digest of IMAGE, its current one where none is named, what these pools run.

    Every region is asked for it and keeps it from clean-up; then the record and the pointer name it. Cut off at any
    moment, running it again ends the work. VMs that run take it over one after another, by the controller.
    """
    lab, console = declared(), people(as_json=as_json)
    name, digest = lab.named(image)
    agree = partial(ask_before_google, f"Promoting {image} to {', '.join(pools)}", yes=yes)
    with at_work(lab, cloud, ConsoleTeller(console), agree=agree) as work:
        moved = running.promote(work, name, digest, pools)
    _end(console, moved, as_json=as_json)


@click.command(name="undo", short_help="Go back to what a pool ran before.")
@click.option("--pool", required=True, metavar="POOL", help="Whose last promotion is taken back.")
@options.cloud_option
@options.yes_option
@options.json_option
def undo_command(*, pool: str, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Take a pool's last promotion back; again, the one before, up to four.

    Where an earlier promotion or undo was cut off, that one is finished and nothing else is done.
    """
    lab, console = declared(), people(as_json=as_json)
    agree = partial(ask_before_google, f"Going back in {pool}", yes=yes)
    with at_work(lab, cloud, ConsoleTeller(console), agree=agree) as work:
        moved = running.undo(work, pool)
    _end(console, (moved,), as_json=as_json)


def _end(console: Console, moved: Sequence[Moved], *, as_json: bool) -> None:
    """Print it; Failure where tags could not be tidied up, with everything else done."""
    for each in moved:
        for line in moved_lines(each):
            say(console, line)
    if as_json:
        machines({"pools": [asdict(each) for each in moved]})
    problems = [each for each in moved if each.problem]
    if problems and not as_json:
        raise Failure(
            f"{problems[0].problem}\nThe pools have their targets; tags that nobody needs stay until the next time."
        )


@click.command(name="where", short_help="Find every place that names a digest.")
@click.argument("digest")
@options.cloud_option
@options.json_option
@click.pass_context
def where_command(ctx: click.Context, *, digest: str, cloud: CloudName | None, as_json: bool) -> None:
    """Search record, pools, pointers, manifests, registries and VMs for DIGEST, whole or IMAGE@DIGEST; of a recorded
    build its first 12 digits do.

    Exit code 0 also where nothing names it; 1 where a source did not answer.
    """
    lab, console = declared(), people(as_json=as_json)
    with at_work(lab, cloud, ConsoleTeller(console)) as work:
        found = running.where(work, digest.rpartition("@")[2])
    say(console, Text(found.digest, style="bold"))
    if found.uses:
        show(console, uses_table(found))
    else:
        say(console, "nothing that answered names it")
    for line in found.silent:
        say(console, Text(f"problem: {line}", style="bold red"))
    code = FAILED if found.silent else 0
    if as_json:
        uses = [asdict(each) for each in found.uses]
        machines({"digest": found.digest, "uses": uses, "problems": list(found.silent), "exit": code})
    ctx.exit(code)
