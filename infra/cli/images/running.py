"""`./tidepool images list`, `current`, `promote`, `undo` and `where`: what is recorded, and which digest pools run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import click

from infra.cli import options
from infra.cli.call import Invocation, called, called_aside
from infra.cli.echo import answer
from infra.model import json_shape
from infra.operations.declared import images as declarations
from infra.operations.errors import Failure
from infra.operations.images import lab as labs
from infra.operations.images import standing_words, state
from infra.preview.toned import Tone


@click.command()
@click.argument("image", required=False)
@options.each(options.cloud_option, options.json_option)
@called
def list_command(call: Invocation, *, image: str | None) -> int:
    """List the images: what each is built from, the record's current digest, whether every place has it, who runs it.

    With IMAGE, all of one: its places one by one, when it is built, its earlier builds. Places are asked, not believed.
    Exit code 1 where a place did not answer.
    """
    lab = declarations.declared()
    wanted = (lab.image(image),) if image else lab.spec.order()
    with labs.at_work(lab, call.cloud, call.teller) as work:
        found = state.standing(work, wanted)
    now = work.now
    if image:
        call.say(*standing_words.details(found[0], now))
    else:
        call.say(
            standing_words.images_table(found, now), "", standing_words.pools_table([each.state for each in found], now)
        )
    problems = [problem for each in found for problem in each.problems]
    call.say(*(f"problem: {problem}" for problem in problems), tone=Tone.PROBLEM)
    call.say(*state.warnings(lab, found, now.date()), tone=Tone.WARNING)
    documents = [each.to_json(now) for each in found]
    return call.end({"record": state.record_of(lab), "images": documents, "problems": problems}, failed=bool(problems))


@click.command()
@click.argument("image")
@options.each(options.cloud_option, options.json_option)
@called_aside
def current_command(call: Invocation, *, image: str) -> None:
    """Print the digest of IMAGE's current build, and nothing else on stdout. With --json the whole build."""
    lab = declarations.declared()
    name = lab.image(image).name
    with labs.at_work(lab, call.cloud, call.teller) as work:
        current = work.current(name)
    answer(call.as_json, {"image": name, "build": current.model_dump(mode="json")}, current.digest)


@click.command()
@click.argument("image", metavar="IMAGE[@DIGEST]")
@click.option(
    "--pool",
    "pools",
    multiple=True,
    required=True,
    metavar="POOL",
    type=options.Name("pool"),
    help="Who shall run it; may be repeated.",
)
@options.each(options.cloud_option, options.yes_option, options.json_option)
@called
def promote_command(call: Invocation, *, image: str, pools: tuple[str, ...]) -> None:
    """Make a digest of IMAGE, its current one where none is named, what these pools run.

    Every region is asked for it and keeps it from clean-up; then the record and the pointer name it. Cut off at any
    moment, running it again ends the work. VMs that run take it over one after another, by the controller.
    """
    lab = declarations.declared()
    name, digest = lab.named(image)
    agree = partial(call.ask_before_google, f"Promoting {image} to {', '.join(pools)}")
    with labs.at_work(lab, call.cloud, call.teller, agree=agree) as work:
        moved = state.promote(work, name, digest, pools)
    _end(call, moved)


@click.command()
@click.option(
    "--pool", required=True, metavar="POOL", type=options.Name("pool"), help="Whose last promotion is taken back."
)
@options.each(options.cloud_option, options.yes_option, options.json_option)
@called
def undo_command(call: Invocation, *, pool: str) -> None:
    """Take a pool's last promotion back; again, the one before, up to four.

    Where an earlier promotion or undo was cut off, that one is finished and nothing else is done.
    """
    lab = declarations.declared()
    agree = partial(call.ask_before_google, f"Going back in {pool}")
    with labs.at_work(lab, call.cloud, call.teller, agree=agree) as work:
        moved = state.undo(work, pool)
    _end(call, (moved,))


def _end(call: Invocation, moved: Sequence[state.Moved]) -> None:
    """Print it; Failure where tags could not be tidied up, with everything else done."""
    for each in moved:
        call.say(*standing_words.moved_lines(each))
    call.tell({"pools": [asdict(each) for each in moved]})
    problems = [each for each in moved if each.problem]
    if problems and not call.as_json:
        raise Failure(
            f"{problems[0].problem}\nThe pools have their targets; tags that nobody needs stay until the next time."
        )


@click.command()
@click.argument("digest")
@options.each(options.cloud_option, options.json_option)
@called
def where_command(call: Invocation, *, digest: str) -> int:
    """Search record, pools, pointers, manifests, registries and VMs for DIGEST, whole or IMAGE@DIGEST; of a recorded
    build its first 12 digits do.

    Exit code 0 also where nothing names it; 1 where a source did not answer.
    """
    lab = declarations.declared()
    with labs.at_work(lab, call.cloud, call.teller) as work:
        found = state.where(work, digest.rpartition("@")[2])
    call.say(found.digest, tone=Tone.HEADING)
    call.say(standing_words.uses_table(found) if found.uses else "nothing that answered names it")
    call.say(*(f"problem: {line}" for line in found.silent), tone=Tone.PROBLEM)
    body = {"digest": found.digest, "uses": json_shape.plain(found.uses), "problems": json_shape.plain(found.silent)}
    return call.end(body, failed=bool(found.silent))
