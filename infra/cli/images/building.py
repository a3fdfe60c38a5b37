"""`./tidepool images build`, `steps` and `record`: builds, here or in the cloud, and what their own steps call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.model.images import spec
from infra.operations.declared import images as declarations
from infra.operations.errors import Refusal
from infra.operations.images import builds
from infra.operations.images import lab as labs
from infra.preview import image_words
from infra.preview.toned import Tone, toned


@click.command()
@click.argument("image")
@click.option("--trigger", is_flag=True, help="Start the stack's trigger by a message, and wait for the record.")
@click.option(
    "--wait", "minutes", type=click.IntRange(min=0, max=24 * 60), default=120, show_default=True, metavar="MINUTES",
    help="With --trigger: how long to wait; 0 waits for nothing.",
)  # fmt: skip
@click.option(
    "--revision", "revisions", multiple=True, metavar="OWNER/NAME=COMMIT", callback=options.pairs,
    help="With --trigger: what to build of a repository, where not its branch's newest; may be repeated.",
)  # fmt: skip
@click.option(
    "--context", type=options.A_FOLDER, metavar="FOLDER",
    help="A checkout of the repository that the image reads, where that is not this one.",
)  # fmt: skip
@click.option(
    "--image-for", "given", multiple=True, metavar="ARGUMENT=IMAGE", callback=options.pairs,
    help="Build from this image in place of the pinned one, such as BASE_IMAGE=localhost/base; may be repeated.",
)  # fmt: skip
@click.option("--no-cache", is_flag=True, help="Take no layer of an earlier build.")
@options.each(options.cloud_option, options.yes_option, options.json_option)
@called
def build_command(
    call: Invocation, *, image: str, trigger: bool, minutes: int, revisions: Mapping[str, str], context: Path | None,
    given: Mapping[str, str], no_cache: bool,
) -> int | None:  # fmt: skip
    """Build IMAGE, and before it the images that it is built from, and run their smoke tests. Nothing is pushed.

    With --trigger the stack's own build of it is started, with all that belongs to it: pushed everywhere, recorded.
    """
    if trigger and (context is not None or given or no_cache):
        raise Refusal("--context, --image-for and --no-cache are of a build on this machine; leave --trigger out")
    if revisions and not trigger:
        raise Refusal("--revision names what the cloud builds, with --trigger; here the checkout is built as it stands")
    lab = declarations.declared()
    wanted = lab.image(image)
    if trigger:
        return _start(call, lab, wanted, minutes, revisions)
    tell = partial(_tell, call)
    builder, done = builds.build_here(lab, wanted, context=context, given=given, cached=not no_cache, listen=tell)
    call.tell({"builder": builder, "builds": [asdict(each) for each in done]})
    return None


def _tell(call: Invocation, image: str, line: str) -> None:
    call.say(toned((image, Tone.HEADING), f": {line}") if image else toned((f"  {line}", Tone.QUIET)))


def _start(call: Invocation, lab: declarations.Lab, image: spec.Image, minutes: int, commits: Mapping[str, str]) -> int:
    """Start the stack's trigger; 1 where the record did not have the build in time."""
    trigger = builds.trigger(lab, image, commits)
    agree = partial(call.ask_before_google, f"Starting a build of {image.name}")
    with labs.at_work(lab, call.cloud, call.teller, agree=agree) as work:
        started = trigger.start(work, minutes, call.teller.say)
    call.say(image_words.trigger_words(image.name, recorded=started.recorded is not None, minutes=minutes))
    recorded = started.recorded and started.recorded.model_dump(mode="json")
    found = {"topic": started.topic, "message": started.message, "builds": dict(started.builds)}
    return call.end(
        {"image": image.name, **found, "recorded": recorded}, failed=bool(minutes) and started.recorded is None
    )


@click.command()
@click.argument("image")
@click.option("--digest", metavar="SHA256", help="Refuse where the build that asks has other steps than these.")
@click.option(
    "--to", "folder", type=options.A_FOLDER, required=True, metavar="FOLDER",
    help="Where a file a step is written, of assignments of the shell.",
)  # fmt: skip
@click.option("--build", metavar="ID", help="Write down that this build began: cloudbuild/ID or github/RUN-ATTEMPT.")
@click.option("--began", type=click.DateTime(["%Y-%m-%dT%H:%M:%SZ"]), help="When, in UTC; now, where not given.")
@options.cloud_option
@called
def steps_command(
    call: Invocation, *, image: str, digest: str | None, folder: Path, build: str | None, began: datetime | None
) -> None:
    """Write what each step of a build of IMAGE is told: pins, places and exceptions of the scan, as they stand here.

    A trigger or a workflow may have been declared from an older checkout. What it was told of them then counts for
    nothing; where it has other steps, the build is refused. With --build it is told of as failed where it leaves no
    record.
    """
    lab = declarations.declared()
    steps = builds.steps(lab, image, began or call.now())
    if build is not None:
        with labs.at_work(lab, call.cloud, call.teller) as work:
            steps.begin(work, build)
    steps.insist_on(digest)
    steps.write(folder)


@click.command()
@click.argument("image")
@click.option(
    "--build", "build_file", type=options.A_FILE, required=True, help="What was built, as the build's steps wrote it."
)
@click.option("--sbom", type=options.A_FILE, required=True, help="What is in the image; kept beside the record.")
@click.option("--provenance", type=options.A_FILE, required=True, help="How it was made; kept beside the record.")
@options.each(options.cloud_option, options.json_option)
@called
def record_command(call: Invocation, *, image: str, build_file: Path, sbom: Path, provenance: Path) -> None:
    """Ask every place of IMAGE for the digest again, keep the documents, then write the record.

    Written on condition that nobody else wrote it meanwhile. Run again with the same build it changes nothing. A build
    of older commits than the current one's is kept as one that can be promoted, and tags stay where they are.
    """
    lab = declarations.declared()
    finished = builds.finished(lab, image, build_file, {"sbom": sbom, "provenance": provenance})
    with labs.at_work(lab, call.cloud, call.teller) as work:
        done = finished.record(work)
    call.say(
        toned(
            (f"{finished.image} ", Tone.HEADING), f"{finished.build.digest}: {image_words.RECORD_WORDS[done.outcome]}"
        )
    )
    told = {"outcome": done.outcome.value, "current": done.current, "generation": done.generation}
    call.tell({"image": finished.image, **told, "build": done.build.model_dump(mode="json")})
