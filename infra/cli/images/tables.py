"""Images for people: one row each, or all of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from infra.cli.images.lab import Lab
from infra.fleet.images.state import ImageState, PlaceState
from infra.model.images.record import Build
from infra.model.images.spec import Image

SHORT = 12
"""Hexadecimal digits of a digest that are shown where its whole length has no room."""
_MEGA = 1_000_000


def images_table(lab: Lab, states: Sequence[ImageState], now: datetime) -> Table:
    """One row an image, parents before children."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("image", no_wrap=True)
    table.add_column("builder", no_wrap=True)
    table.add_column("digest", no_wrap=True)
    table.add_column("age", no_wrap=True, justify="right")
    table.add_column("places", overflow="fold")
    table.add_column("pools", overflow="fold")
    for state in states:
        image = lab.spec.image(state.image)
        table.add_row(
            _indented(lab, image),
            image.builder.value,
            short(state.current.digest) if state.current else "never built",
            age(now, state.current.built) if state.current else "-",
            places_line(state),
            pools_line(state),
        )
    return table


def details(image: Image, state: ImageState, now: datetime, unresolved: Sequence[str]) -> Iterator[Text]:
    """All of one image, a line each."""
    yield Text.assemble((image.name, "bold"), f" built by {image.builder.value} from {image.context.repository}")
    yield _field("parents", ", ".join(image.parents) or "none")
    yield _field("when", _when(image))
    yield _field("platforms", ", ".join(image.platforms))
    yield _field("tags", ", ".join(image.tags) or "none")
    yield _field("unresolved", ", ".join(unresolved) or "none")
    yield _field("pools", pools_line(state))
    if state.current is None:
        yield _field("current", "never built")
    else:
        yield _field("current", state.current.digest)
        yield _field("built", _built(state.current, now))
        for repository, commit in sorted(state.current.revision.items()):
            yield _field("from", f"{repository} {commit[:SHORT]}")
        for parent, digest in sorted(state.current.parents.items()):
            yield _field("from", f"{parent} {short(digest)}")
    for number, each in enumerate(state.places):
        yield Text.assemble(_name("places" if number == 0 else ""), each.place)
        yield Text.assemble(_name(""), "  ", _answer(each))
    for number, each in enumerate(state.history):
        yield _field("earlier" if number == 0 else "", f"{short(each.digest)}  {_built(each, now)}")


def short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:SHORT]


def age(now: datetime, then: datetime) -> str:
    """`40 min`, `7 h`, `12 d`: whole units, rounded down."""
    seconds = max(0, int((now - then).total_seconds()))
    if seconds < 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h" if seconds < 48 * 3600 else f"{seconds // 86400} d"


def places_line(state: ImageState) -> Text:
    """Whether every place has the current digest."""
    count = len(state.places)
    if state.current is None:
        return Text(f"{count} places" if count != 1 else "1 place", style="dim")
    having = sum(each.current is True for each in state.places)
    silent = sum(each.current is None for each in state.places)
    if silent:
        return Text(f"{having} of {count} have it, {silent} silent", style="yellow")
    if having == count:
        return Text(f"all {count} equal" if count > 1 else "has it", style="green")
    return Text(f"{having} of {count} have it", style="red")


def pools_line(state: ImageState) -> Text:
    """`tpu-ci, tpu-v4` where they run the current build, else what they run."""
    said: list[str] = []
    for pool, target in state.pools.items():
        if target is None:
            said.append(f"{pool} (none)")
        elif target.image != state.image:
            said.append(f"{pool} ({target.image})")
        elif state.current and target.digest == state.current.digest:
            said.append(pool)
        else:
            said.append(f"{pool} ({short(target.digest)})")
    return Text(", ".join(said) or "-")


def _indented(lab: Lab, image: Image) -> str:
    return f"{'  ' * len(lab.spec.ancestors(image.name))}{image.name}"


def _when(image: Image) -> str:
    when = image.when
    said = []
    if when.push:
        said.append(f"a push to {when.push.branch}")
    if when.schedule:
        said.append(f"{when.schedule.cron} ({when.schedule.time_zone})")
    if when.after:
        said.append(f"after {when.after}")
    return ", ".join(said) or "by hand"


def _built(build: Build, now: datetime) -> str:
    size = f", {build.size_bytes / _MEGA:,.0f} MB" if build.size_bytes is not None else ""
    return f"{build.built:%Y-%m-%d %H:%M} UTC, {age(now, build.built)} ago, by {build.build}{size}"


def _answer(state: PlaceState) -> Text:
    if state.problem:
        return Text("did not answer", style="yellow")
    has = {True: Text("has it", style="green"), False: Text("lacks it", style="red"), None: Text("not asked")}
    named = f"{state.tag} is {short(state.named)}" if state.named else f"no tag {state.tag}"
    return Text.assemble(has[state.current], f", {named}" if state.tag else "")


def _field(name: str, value: str | Text) -> Text:
    return Text.assemble(_name(name), value)


def _name(name: str) -> tuple[str, str]:
    return (f"  {name:<11}", "dim")
