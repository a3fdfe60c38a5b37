"""`./tidepool images steps IMAGE`: what each step of a build is told by this checkout, called by the build itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from infra.cli import options
from infra.cli.render.console import people
from infra.cli.render.teller import ConsoleTeller
from infra.fleet.images.attempts import begin
from infra.model.images.spec import Builder, Image
from infra.model.images.steps import bootstrap, step_pins
from infra.model.images.times import due_by
from infra.model.images.told import DeclaredImages, told_files
from infra.model.images.users import record_stack
from infra.operations.errors import Refusal
from infra.operations.images.lab import Lab, at_work, declared
from infra.operations.ports import CloudName


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
def command(
    *, image: str, digest: str | None, folder: Path, build: str | None, began: datetime | None, cloud: CloudName | None
) -> None:
    """Write what each step of a build of IMAGE is told: pins, places and exceptions of the scan, as they stand here.

    A trigger or a workflow may have been declared from an older checkout. What it was told of them then counts for
    nothing; where it has other steps, the build is refused. With --build it is told of as failed where it leaves no
    record.
    """
    lab = declared()
    wanted = lab.image(image)
    told = DeclaredImages(spec=lab.spec, pins=lab.pins, stacks=lab.stacks, bootstrap=bootstrap(lab.root))
    made = told.made(wanted.name)
    start = began.replace(tzinfo=UTC) if began else datetime.now(UTC)
    if build is not None:
        with at_work(lab, cloud, ConsoleTeller(people(as_json=False))) as work:
            limit = timedelta(seconds=lab.home.builds.timeout if lab.home.builds else 0)
            every = {each.name: due_by(lab.spec, each.name, start) for each in lab.spec.images}
            begin(work.records, [each.name for each in made], build, start, start + limit, declared=every)
    if digest is not None and digest != told.digest(wanted.name):
        raise Refusal(
            f"{wanted.name}: the steps that run were declared from other recipes than those that were fetched, "
            f"and would record what they did not build. Next: {_next(lab, wanted)}"
        )
    lab.pins.insist(step_pins(made))
    folder.mkdir(parents=True, exist_ok=True)
    for step, text in told_files(told.steps(wanted.name, start.date())).items():
        (folder / step).write_text(text, encoding="utf-8")


def _next(lab: Lab, image: Image) -> str:
    registry = image.push.artifact_registry
    if image.builder is Builder.CLOUDBUILD:
        stack = registry.stack if registry else record_stack(lab.spec)
        return f"./tidepool up {stack}, which starts the build anew"
    return "./tidepool workflows --write, and merge the workflow of images where it runs"
