"""`./tidepool images record IMAGE`: the commit point of a build, called by its steps."""

from __future__ import annotations

from pathlib import Path

import click
from pydantic import ValidationError
from rich.text import Text

from infra.cli import options
from infra.cli.render.console import machines, people, say
from infra.cli.render.teller import ConsoleTeller
from infra.fleet.images.recording import record_build
from infra.model.images.record import Build, Outcome
from infra.model.images.times import due_by
from infra.operations.errors import Failure
from infra.operations.images.lab import at_work, declared
from infra.operations.ports import CloudName

_FILE = click.Path(dir_okay=False, path_type=Path)
_SAID = {
    Outcome.CURRENT: "recorded",
    Outcome.UNCHANGED: "recorded before",
    Outcome.OLDER: "kept in the history: the record names a build of newer sources",
}


@click.command(name="record", short_help="Record a build that every place has: its commit point.")
@click.argument("image")
@click.option("--build", "build_file", type=_FILE, required=True, help="What was built, as the build's steps wrote it.")
@click.option("--sbom", type=_FILE, required=True, help="What is in the image; kept beside the record.")
@click.option("--provenance", type=_FILE, required=True, help="How it was made; kept beside the record.")
@options.cloud_option
@options.json_option
def command(
    *, image: str, build_file: Path, sbom: Path, provenance: Path, cloud: CloudName | None, as_json: bool
) -> None:
    """Ask every place of IMAGE for the digest again, keep the documents, then write the record.

    Written on condition that nobody else wrote it meanwhile. Run again with the same build it changes nothing. A build
    of older commits than the current one's is kept as one that can be promoted, and tags stay where they are.
    """
    lab, console = declared(), people(as_json=as_json)
    name = lab.image(image).name
    try:
        build = Build.model_validate_json(_read(build_file))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Failure(f"{build_file} is no build: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    build = build.model_copy(update={"due_by": due_by(lab.spec, name, build.built)})
    documents = {"sbom": _read(sbom), "provenance": _read(provenance)}
    with at_work(lab, cloud, ConsoleTeller(console)) as work:
        done = record_build(work.records, work.registries, name, build, places=lab.places(name), documents=documents)
    say(console, Text.assemble((f"{name} ", "bold"), f"{build.digest}: {_SAID[done.outcome]}"))
    if as_json:
        machines(
            {
                "image": name,
                "outcome": done.outcome.value,
                "current": done.current,
                "generation": done.generation,
                "build": done.build.model_dump(mode="json"),
            }
        )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror or error}") from None
