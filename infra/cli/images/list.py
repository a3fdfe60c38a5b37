"""`./tidepool images list [IMAGE]`: what each image is, where it is, and which pools run it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click
from rich.text import Text

from infra.cli import options
from infra.cli.failures import FAILED
from infra.cli.images.tables import details, images_table, pools_table
from infra.cli.render.console import machines, people, say, show
from infra.cli.render.teller import ConsoleTeller
from infra.fleet.images.state import ImageState, image_state
from infra.model import names
from infra.model.images.cost import BuildCost, build_cost
from infra.model.images.sources import CONNECT, unconnected
from infra.model.images.spec import Image
from infra.model.images.steps import step_pins
from infra.operations.images.lab import Lab, Work, at_work, declared, pools_of
from infra.operations.ports import CloudName


@click.command(name="list", short_help="Say what each image is, where it is, and which pools run it.")
@click.argument("image", required=False)
@options.cloud_option
@options.json_option
@click.pass_context
def command(ctx: click.Context, *, image: str | None, cloud: CloudName | None, as_json: bool) -> None:
    """List the images: what each is built from, the record's current digest, whether every place has it, who runs it.

    With IMAGE, all of one: its places one by one, when it is built, its earlier builds. Places are asked, not believed.
    Exit code 1 where a place did not answer.
    """
    lab, console = declared(), people(as_json=as_json)
    wanted = (lab.image(image),) if image else lab.spec.order()
    with at_work(lab, cloud, ConsoleTeller(console)) as work:
        states = _states(work, wanted)
    now = datetime.now(UTC)
    if image:
        for line in details(wanted[0], states[0], now, _unresolved(lab, wanted[0]), _cost(lab, wanted[0], states[0])):
            say(console, line)
    else:
        show(console, images_table(lab, states, now))
        say(console, "")
        show(console, pools_table(states, now))
    problems = [each.problem for state in states for each in state.places if each.problem]
    for problem in problems:
        say(console, Text(f"problem: {problem}", style="bold red"))
    for each in wanted:
        if unresolved := _unresolved(lab, each):
            say(console, Text(f"{each.name} cannot be built: {', '.join(unresolved)} unresolved", style="yellow"))
    if unheard := {repository for each in wanted for repository in _unconnected(lab, each)}:
        said = f"no push to {' or '.join(sorted(unheard))} starts a build of Cloud Build, which is not connected"
        say(console, Text(f"{said}: {CONNECT}", style="yellow"))
    for over in (each for each in lab.spec.exceptions if each.expires < now.date()):
        said = f"the exception for {over.finding} ended on {over.expires}, and the scan refuses it again: remove it"
        say(console, Text(said, style="yellow"))
    code = FAILED if problems else 0
    if as_json:
        home = lab.home
        where = {"bucket": home.bucket.name, "object": names.images_record_object()}
        documents = [_document(lab, each, state, now) for each, state in zip(wanted, states, strict=True)]
        machines({"record": where, "images": documents, "problems": problems, "exit": code})
    ctx.exit(code)


def _states(work: Work, images: tuple[Image, ...]) -> list[ImageState]:
    record = work.store.read()
    return [
        image_state(
            work.registries,
            record,
            each.name,
            places=work.lab.places(each.name),
            tag=next((tag for tag in each.tags if "{" not in tag), None),
            pools=pools_of(work.lab, each),
        )
        for each in images
    ]


def _unresolved(lab: Lab, image: Image) -> tuple[str, ...]:
    """Pins without which the image cannot be built, those of the build's own tools included."""
    return lab.pins.unresolved(step_pins((image,)))


def _unconnected(lab: Lab, image: Image) -> tuple[str, ...]:
    """Repositories whose pushes start no build of the image as long as they are not connected to Cloud Build."""
    registry = image.push.artifact_registry
    builds = lab.stacks[registry.stack].builds if registry else None
    return unconnected(lab.spec, image, builds) if builds else ()


def _cost(lab: Lab, image: Image, state: ImageState) -> BuildCost | None:
    registry = image.push.artifact_registry
    builds = lab.stacks[registry.stack].builds if registry else None
    return build_cost(image, state.current, builds.machine_type) if builds else None


def _document(lab: Lab, image: Image, state: ImageState, now: datetime) -> dict[str, Any]:
    declaration = image.model_dump(mode="json", include={"builder", "context", "parents", "platforms", "tags", "when"})
    return {
        "name": image.name,
        **declaration,
        "current": state.current and state.current.model_dump(mode="json"),
        "age_seconds": state.current and int((now - state.current.built).total_seconds()),
        "equal": state.equal,
        "places": [
            {
                "place": each.place,
                "location": each.location,
                "tag": each.tag,
                "named": each.named,
                "has_current": each.current,
                "problem": each.problem,
            }
            for each in state.places
        ],
        "pools": {
            pool: target and target.model_dump(mode="json", include={"image", "digest", "since"})
            for pool, target in state.pools.items()
        },
        "history": [build.model_dump(mode="json") for build in state.history],
        "cost": cost.to_json() if (cost := _cost(lab, image, state)) else None,
        "unresolved": list(_unresolved(lab, image)),
        "unconnected": list(_unconnected(lab, image)),
    }
