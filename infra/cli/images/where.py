"""`./tidepool images where DIGEST`: every place that names a digest."""

from __future__ import annotations

import re
from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text

from infra.cli import options
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say, show
from infra.cli.render.teller import ConsoleTeller
from infra.fleet.images.registries import ArtifactPlace
from infra.fleet.images.where import Found, Search
from infra.model.images.record import DIGEST
from infra.operations.errors import Refusal
from infra.operations.images.lab import Work, at_work, declared
from infra.operations.ports import CloudName

_SHORT = re.compile(r"(sha256:)?[0-9a-f]{12,64}")


@click.command(name="where", short_help="Find every place that names a digest.")
@click.argument("digest")
@options.cloud_option
@options.json_option
@click.pass_context
def command(ctx: click.Context, *, digest: str, cloud: CloudName | None, as_json: bool) -> None:
    """Search record, pools, pointers, manifests, registries and VMs for DIGEST, whole or IMAGE@DIGEST; of a recorded
    build its first 12 digits do.

    Exit code 0 also where nothing names it; 1 where a source did not answer.
    """
    lab, console = declared(), people(as_json=as_json)
    with at_work(lab, cloud, ConsoleTeller(console)) as work:
        whole = _whole(work, digest.rpartition("@")[2])
        found = Search(
            store=work.store,
            registries=work.registries,
            google=work.google,
            fleets=lab.stacks,
            places={each.name: lab.places(each.name) for each in lab.spec.order()},
            tags={each.name: each.tags for each in lab.spec.images},
        ).find(whole)
    say(console, Text(whole, style="bold"))
    if found.uses:
        show(console, _table(found))
    else:
        say(console, "nothing that answered names it")
    for line in found.silent:
        say(console, Text(f"problem: {line}", style="bold red"))
    code = FAILED if found.silent else 0
    if as_json:
        uses = [asdict(each) for each in found.uses]
        machines({"digest": whole, "uses": uses, "problems": list(found.silent), "exit": code})
    ctx.exit(code)


def _whole(work: Work, digest: str) -> str:
    """The digest itself, or the recorded one that starts so."""
    if re.fullmatch(DIGEST, digest):
        return digest
    if _SHORT.fullmatch(digest):
        start = f"sha256:{digest.removeprefix('sha256:')}"
        images = work.store.read().images.values()
        known = {build.digest for image in images for build in image.builds() if build.digest.startswith(start)}
        if len(known) == 1:
            return known.pop()
        raise Refusal(
            f"{len(known)} recorded builds start with {digest}; give all of sha256: and 64 hexadecimal digits"
        )
    raise Refusal(f"{digest!r} is no digest: sha256: and 64 hexadecimal digits, or 12 of them for a recorded build")


def _table(found: Found) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("kind", "named by", "how"):
        table.add_column(title, overflow="fold", no_wrap=title == "kind")
    tags = {each.subject: each.detail for each in found.uses if each.kind == "tag"}
    for each in found.uses:
        if each.kind == "registry":
            table.add_row(each.kind, _short(each.subject), tags.get(each.subject, "no tag"))
        elif each.kind != "tag":
            table.add_row(each.kind, each.subject, each.detail)
    return table


def _short(place: str) -> str:
    """`us-west4 marin-ci/tpu-ci`: what tells a place in Artifact Registry from the stack's others."""
    found = ArtifactPlace.parse(place)
    return f"{found.location} {found.repository}/{found.package}" if found else place
