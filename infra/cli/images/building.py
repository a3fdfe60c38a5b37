"""`./tidepool images build`, `steps` and `record`: builds, here or in the cloud, and what their own steps call."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.cli.render.teller import ConsoleTeller
from infra.model.images.record import Outcome
from infra.model.images.spec import Image
from infra.operations.errors import Refusal
from infra.operations.images import builds
from infra.operations.images.lab import Lab, at_work, declared
from infra.operations.ports import CloudName

_FILE = click.Path(dir_okay=False, path_type=Path)
_SAID = {
    Outcome.CURRENT: "recorded",
    Outcome.UNCHANGED: "recorded before",
    Outcome.OLDER: "kept in the history: the record names a build of newer sources",
}


@click.command(name="build", short_help="Build an image here, or start its build in the cloud.")
@click.argument("image")
@click.option("--trigger", is_flag=True, help="Start the stack's trigger by a message, and wait for the record.")
@click.option(
    "--wait",
    "minutes",
    type=click.IntRange(min=0, max=24 * 60),
    default=120,
    show_default=True,
    metavar="MINUTES",
    help="With --trigger: how long to wait; 0 waits for nothing.",
)
@click.option(
    "--revision",
    "revisions",
    multiple=True,
    metavar="OWNER/NAME=COMMIT",
    help="With --trigger: what to build of a repository, where not its branch's newest; may be repeated.",
)
@click.option(
    "--context",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="A checkout of the repository that the image reads, where that is not this one.",
)
@click.option(
    "--image-for",
    "given",
    multiple=True,
    metavar="ARGUMENT=IMAGE",
    help="Build from this image in place of the pinned one, such as BASE_IMAGE=localhost/base; may be repeated.",
)
@click.option("--no-cache", is_flag=True, help="Take no layer of an earlier build.")
@options.cloud_option
@options.yes_option
@options.json_option
@click.pass_context
def build_command(
    ctx: click.Context,
    *,
    image: str,
    trigger: bool,
    minutes: int,
    revisions: tuple[str, ...],
    context: Path | None,
    given: tuple[str, ...],
    no_cache: bool,
    cloud: CloudName | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Build IMAGE, and before it the images that it is built from, and run their smoke tests. Nothing is pushed.

    With --trigger the stack's own build of it is started, with all that belongs to it: pushed everywhere, recorded.
    """
    if trigger and (context is not None or given or no_cache):
        raise Refusal("--context, --image-for and --no-cache are of a build on this machine; leave --trigger out")
    if revisions and not trigger:
        raise Refusal("--revision names what the cloud builds, with --trigger; here the checkout is built as it stands")
    lab, console = declared(), people(as_json=as_json)
    wanted = lab.image(image)
    if trigger:
        commits = _pairs("--revision", "OWNER/NAME=COMMIT", revisions)
        ctx.exit(_start(lab, wanted, minutes, commits, cloud, console, yes=yes, as_json=as_json))
    from infra.operations.local.images import build  # nothing local is loaded for a build in the cloud

    images = _pairs("--image-for", "ARGUMENT=IMAGE", given)
    tell = partial(_tell, console)
    builder, done = build(lab, wanted, context=context, given=images, cached=not no_cache, listen=tell)
    if as_json:
        machines({"builder": builder, "builds": [asdict(each) for each in done]})


def _pairs(option: str, form: str, pairs: tuple[str, ...]) -> dict[str, str]:
    wrong = [each for each in pairs if "=" not in each]
    if wrong:
        raise Refusal(f"{option} takes {form}, and {wrong[0]!r} has no equals sign")
    return dict(each.split("=", 1) for each in pairs)


def _tell(console: Console, image: str, line: str) -> None:
    say(console, Text.assemble((image, "bold"), f": {line}") if image else Text(f"  {line}", style="dim"))


def _start(
    lab: Lab,
    image: Image,
    minutes: int,
    commits: dict[str, str],
    cloud: CloudName | None,
    console: Console,
    *,
    yes: bool,
    as_json: bool,
) -> int:
    """Start the stack's trigger; 1 where the record did not have the build in time."""
    trigger, teller = builds.trigger(lab, image, commits), ConsoleTeller(console)
    agree = partial(ask_before_google, f"Starting a build of {image.name}", yes=yes)
    with at_work(lab, cloud, teller, agree=agree) as work:
        started = trigger.start(work, minutes, teller.say)
    code = FAILED if minutes and started.recorded is None else 0
    say(console, _outcome(image.name, started.recorded is not None, minutes))
    if as_json:
        recorded = started.recorded and started.recorded.model_dump(mode="json")
        found = {"topic": started.topic, "message": started.message, "builds": dict(started.builds)}
        machines({"image": image.name, **found, "recorded": recorded, "exit": code})
    return code


def _outcome(image: str, recorded: bool, minutes: int) -> Text:
    if recorded:
        return Text(f"{image} is recorded; `./tidepool images promote {image} --pool POOL` gives it to a pool")
    if not minutes:
        return Text(f"{image} is started")
    return Text(f"{image} is not recorded after {minutes} minutes; the build goes on without this command", "yellow")


@click.command(name="steps", short_help="Write what each step of a build is told.")
@click.argument("image")
@click.option("--digest", metavar="SHA256", help="Refuse where the build that asks has other steps than these.")
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Where a file a step is written, of assignments of the shell.",
)
@click.option("--build", metavar="ID", help="Write down that this build began: cloudbuild/ID or github/RUN-ATTEMPT.")
@click.option("--began", type=click.DateTime(["%Y-%m-%dT%H:%M:%SZ"]), help="When, in UTC; now, where not given.")
@options.cloud_option
def steps_command(
    *, image: str, digest: str | None, folder: Path, build: str | None, began: datetime | None, cloud: CloudName | None
) -> None:
    """Write what each step of a build of IMAGE is told: pins, places and exceptions of the scan, as they stand here.

    A trigger or a workflow may have been declared from an older checkout. What it was told of them then counts for
    nothing; where it has other steps, the build is refused. With --build it is told of as failed where it leaves no
    record.
    """
    lab = declared()
    steps = builds.steps(lab, image, began)
    if build is not None:
        with at_work(lab, cloud, ConsoleTeller(people(as_json=False))) as work:
            steps.begin(work, build)
    steps.insist_on(digest)
    steps.write(folder)


@click.command(name="record", short_help="Record a build that every place has: its commit point.")
@click.argument("image")
@click.option("--build", "build_file", type=_FILE, required=True, help="What was built, as the build's steps wrote it.")
@click.option("--sbom", type=_FILE, required=True, help="What is in the image; kept beside the record.")
@click.option("--provenance", type=_FILE, required=True, help="How it was made; kept beside the record.")
@options.cloud_option
@options.json_option
def record_command(
    *, image: str, build_file: Path, sbom: Path, provenance: Path, cloud: CloudName | None, as_json: bool
) -> None:
    """Ask every place of IMAGE for the digest again, keep the documents, then write the record.

    Written on condition that nobody else wrote it meanwhile. Run again with the same build it changes nothing. A build
    of older commits than the current one's is kept as one that can be promoted, and tags stay where they are.
    """
    lab, console = declared(), people(as_json=as_json)
    finished = builds.finished(lab, image, build_file, {"sbom": sbom, "provenance": provenance})
    with at_work(lab, cloud, ConsoleTeller(console)) as work:
        done = finished.record(work)
    say(console, Text.assemble((f"{finished.image} ", "bold"), f"{finished.build.digest}: {_SAID[done.outcome]}"))
    if as_json:
        told = {"outcome": done.outcome.value, "current": done.current, "generation": done.generation}
        machines({"image": finished.image, **told, "build": done.build.model_dump(mode="json")})
