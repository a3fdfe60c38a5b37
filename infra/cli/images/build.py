"""`./tidepool images build IMAGE`: on this machine, or by a message that starts the stack's trigger."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.cli.render.teller import ConsoleTeller
from infra.fleet.images.starting import Starter
from infra.local.builds.builders import Builder, BuildError, Built, local_builder
from infra.local.builds.order import order
from infra.model.images.spec import SMOKE_TEST, Image
from infra.model.images.spec import Builder as BuilderName
from infra.model.images.steps import checkouts, parent_argument, step_pins
from infra.operations.errors import Failure, Refusal
from infra.operations.images.lab import Lab, at_work, declared
from infra.operations.ports import CloudName

_MINUTE = 60
_ELSEWHERE = (
    "where no registry is reached, docs/images.md says how to build from a stand-in: Trying a recipe without a registry"
)
_MEGA = 1_000_000


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
def command(
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
    _insist_on_what_is_heeded(
        trigger=trigger, here=context is not None or bool(given) or no_cache, revisions=bool(revisions)
    )
    lab, console = declared(), people(as_json=as_json)
    wanted = lab.image(image)
    if trigger:
        commits = _pairs("--revision", "OWNER/NAME=COMMIT", revisions)
        ctx.exit(_start(lab, wanted, minutes, commits, cloud, console, yes=yes, as_json=as_json))
    images = _pairs("--image-for", "ARGUMENT=IMAGE", given)
    _build(lab, wanted, context, images, console, cached=not no_cache, as_json=as_json)


def _insist_on_what_is_heeded(*, trigger: bool, here: bool, revisions: bool) -> None:
    if trigger and here:
        raise Refusal("--context, --image-for and --no-cache are of a build on this machine; leave --trigger out")
    if revisions and not trigger:
        raise Refusal("--revision names what the cloud builds, with --trigger; here the checkout is built as it stands")


def _pairs(option: str, form: str, pairs: tuple[str, ...]) -> dict[str, str]:
    wrong = [each for each in pairs if "=" not in each]
    if wrong:
        raise Refusal(f"{option} takes {form}, and {wrong[0]!r} has no equals sign")
    return dict(each.split("=", 1) for each in pairs)


def _build(
    lab: Lab,
    image: Image,
    context: Path | None,
    given: dict[str, str],
    console: Console,
    *,
    cached: bool,
    as_json: bool,
) -> None:
    builder = local_builder()
    if builder is None:
        raise Failure(
            "this machine has no builder: docker with buildx and a running daemon, or as root buildah (Debian: "
            f"apt-get install buildah). `./tidepool images build {image.name} --trigger` builds it in the cloud"
        )
    done: list[Built] = []
    try:
        for each in (*lab.spec.ancestors(image.name), image):
            done.append(_built(lab, builder, each, context, given, done, console, cached=cached))
    except BuildError as error:
        raise Failure(f"{error}\n{_ELSEWHERE}") from None
    if as_json:
        machines({"builder": builder.name, "builds": [asdict(each) for each in done]})


def _built(
    lab: Lab,
    builder: Builder,
    image: Image,
    context: Path | None,
    given: dict[str, str],
    done: list[Built],
    console: Console,
    *,
    cached: bool,
) -> Built:
    """One image, from the parents just built."""
    parents = {parent_argument(image, each.image): each.tag for each in done if each.image in image.parents}
    elsewhere = None if image.context.repository == lab.spec.recipes else context
    wanted = order(lab.root, lab.spec, lab.pins, image, context=elsewhere, images={**parents, **given})
    say(console, Text.assemble((image.name, "bold"), f": building with {builder.name}"))
    built = builder.build(wanted, cached=cached, listen=lambda line: say(console, Text(f"  {line}", style="dim")))
    size = f"{built.size_bytes / _MEGA:,.0f} MB in {built.layers} layers"
    say(console, Text.assemble((image.name, "bold"), f": {built.tag}, {size}, {built.seconds} s"))
    builder.smoke(built, wanted.recipe / SMOKE_TEST)
    say(console, Text.assemble((image.name, "bold"), ": passed its smoke test"))
    return built


def _start(
    lab: Lab,
    image: Image,
    minutes: int,
    commits: Mapping[str, str],
    cloud: CloudName | None,
    console: Console,
    *,
    yes: bool,
    as_json: bool,
) -> int:
    """Start the stack's trigger; 1 where the record did not have the build in time."""
    registry = image.push.artifact_registry
    if image.builder is not BuilderName.CLOUDBUILD or registry is None:
        raise Refusal(
            f"{image.name} is built by GitHub, and no trigger of a stack builds it; run its workflow on GitHub, "
            "or leave --trigger out to build it here"
        )
    folders = _folders(lab, image, commits)
    lab.pins.insist(step_pins(lab.spec.family(image.name)))
    stack = lab.stacks[registry.stack]
    if stack.builds is None:
        raise Refusal(f"stacks/Pulumi.{stack.stack}.yaml has no tidepool:builds, so nothing there builds {image.name}")
    with at_work(
        lab,
        cloud,
        ConsoleTeller(console),
        agree=partial(ask_before_google, f"Starting a build of {image.name}", yes=yes),
    ) as work:
        started = Starter(
            google=work.google[stack.stack],
            store=work.store,
            project=stack.project,
            stack=stack.stack,
            region=stack.builds.region,
            sleep=time.sleep,
            clock=time.monotonic,
        ).start(image.name, limit=minutes * _MINUTE, tell=ConsoleTeller(console).say, revisions=folders)
    code = FAILED if minutes and started.recorded is None else 0
    say(console, _outcome(image.name, started.recorded is not None, minutes))
    if as_json:
        said: dict[str, Any] = {
            "image": image.name,
            "topic": started.topic,
            "message": started.message,
            "builds": dict(started.builds),
            "recorded": started.recorded and started.recorded.model_dump(mode="json"),
            "exit": code,
        }
        machines(said)
    return code


def _folders(lab: Lab, image: Image, commits: Mapping[str, str]) -> dict[str, str]:
    """Commits by folder of the build's workspace; Refusal for what the build does not read."""
    folders = {each.repository: each.folder for each in checkouts(lab.spec, lab.spec.family(image.name))}
    for repository, commit in commits.items():
        if repository == lab.spec.recipes:
            raise Refusal(f"{repository} has the recipes, of which the newest commit of main is always built")
        if repository not in folders:
            raise Refusal(f"a build of {image.name} reads {' and '.join(sorted(folders))}, not {repository}")
        if not re.fullmatch(r"[0-9a-f]{40}", commit):
            raise Refusal(f"--revision {repository}: {commit!r} is no commit of 40 hexadecimal digits")
    return {folders[repository]: commit for repository, commit in commits.items()}


def _outcome(image: str, recorded: bool, minutes: int) -> Text:
    if recorded:
        return Text(f"{image} is recorded; `./tidepool images promote {image} --pool POOL` gives it to a pool")
    if not minutes:
        return Text(f"{image} is started")
    return Text(f"{image} is not recorded after {minutes} minutes; the build goes on without this command", "yellow")
