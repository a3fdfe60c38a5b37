"""Images for people: a row for each image and each pool, or all of one image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from infra.fleet.images.state import ImageState, PlaceState
from infra.model.images.cost import BuildCost
from infra.model.images.record import Build
from infra.model.images.spec import Image
from infra.operations.images.lab import Lab

SHORT = 12
"""Hexadecimal digits of a digest that are shown where its whole length has no room."""
_KILO, _MEGA = 1_000, 1_000_000


def images_table(lab: Lab, states: Sequence[ImageState], now: datetime) -> Table:
    """One row an image, parents before children."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("image", no_wrap=True)
    table.add_column("builder", no_wrap=True)
    table.add_column("digest", no_wrap=True)
    table.add_column("age", no_wrap=True, justify="right")
    table.add_column("places", overflow="fold")
    for state in states:
        image = lab.spec.image(state.image)
        table.add_row(
            _indented(lab, image),
            image.builder.value,
            short(state.current.digest) if state.current else "never built",
            age(now, state.current.built) if state.current else "-",
            places_line(state),
        )
    return table


def pools_table(states: Sequence[ImageState], now: datetime) -> Table:
    """One row a pool: what it runs, and how that stands to the current build of the image."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("pool", "image", "digest"):
        table.add_column(title, no_wrap=True)
    table.add_column("since", no_wrap=True, justify="right")
    table.add_column("build", overflow="fold")
    images = {state.image: state for state in states}
    targets = {pool: target for state in states for pool, target in state.pools.items()}
    for pool, target in sorted(targets.items()):
        if target is None:
            table.add_row(pool, "-", "-", "-", Text("none promoted", style="yellow"))
        else:
            build = _behind(images.get(target.image), target.digest)
            table.add_row(pool, target.image, short(target.digest), age(now, target.since), build)
    return table


def details(
    image: Image, state: ImageState, now: datetime, unresolved: Sequence[str], cost: BuildCost | None
) -> Iterator[Text]:
    """All of one image, a line each."""
    yield Text.assemble((image.name, "bold"), f" built by {image.builder.value} from {image.context.repository}")
    yield _field("parents", ", ".join(image.parents) or "none")
    yield _field("when", _when(image))
    yield _field("platforms", ", ".join(image.platforms))
    yield _field("tags", ", ".join(image.tags) or "none")
    yield _field("unresolved", ", ".join(unresolved) or "none")
    for number, (pool, target) in enumerate(state.pools.items()):
        runs = f"{target.image} {short(target.digest)}, " if target else ""
        said = _behind(state if target.image == state.image else None, target.digest) if target else "none promoted"
        yield Text.assemble(_name("pools" if number == 0 else ""), f"{pool:<{_widest(state.pools)}}  {runs}", said)
    if state.current is None:
        yield _field("current", "never built")
    else:
        yield _field("current", short(state.current.digest))
        yield _field("built", _built(state.current, now))
        if state.current.size_bytes is not None:
            yield _field("size", f"{volume(state.current.size_bytes)} to pull")
        if cost is not None:
            yield _field("cost", _cost(cost))
        for repository, commit in sorted(state.current.revision.items()):
            yield _field("from", f"{repository} {commit[:SHORT]}")
        for parent, digest in sorted(state.current.parents.items()):
            yield _field("from", f"{parent} {short(digest)}")
    widest = _widest(each.location for each in state.places)
    for number, each in enumerate(state.places):
        answer = Text.assemble(_answer(each), _copied(state.current, each.place))
        yield Text.assemble(_name("places" if number == 0 else ""), f"{each.location:<{widest}}  ", answer)
    for number, each in enumerate(state.history):
        yield _field("earlier" if number == 0 else "", f"{short(each.digest)}  {_built(each, now)}")
    if state.current:
        yield Text(f"{state.places[0].place}@{state.current.digest}", style="dim")


def short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:SHORT]


def age(now: datetime, then: datetime) -> str:
    """`40 min`, `7 h`, `12 d`: whole units, rounded down."""
    seconds = max(0, int((now - then).total_seconds()))
    if seconds < 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h" if seconds < 48 * 3600 else f"{seconds // 86400} d"


def volume(count: int) -> str:
    """Bytes for people: `165 MB`, below a megabyte `10.5 kB`, of none `nothing`."""
    if count == 0:
        return "nothing"
    return f"{count / _MEGA:,.0f} MB" if count >= _MEGA else f"{count / _KILO:,.1f} kB"


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


def _behind(state: ImageState | None, digest: str) -> Text:
    """`current`, or by how many builds a digest is older than that; nothing is said of what the record forgot."""
    builds = (state.current, *state.history) if state and state.current else ()
    behind = next((number for number, build in enumerate(builds) if build.digest == digest), None)
    if behind is None:
        return Text("-")
    if behind == 0:
        return Text("current", style="green")
    return Text(f"{behind} {'build' if behind == 1 else 'builds'} behind", style="yellow")


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
    return f"{build.built:%Y-%m-%d %H:%M} UTC, {age(now, build.built)} ago, by {build.build}"


def _cost(cost: BuildCost) -> str:
    said = f"${cost.usd} for {max(1, cost.seconds // 60)} min on {cost.machine}"
    return f"{said}; its {cost.times} times a month ${cost.usd_per_month}" if cost.times else said


def _answer(state: PlaceState) -> Text:
    if state.problem:
        return Text("did not answer", style="yellow")
    has = {True: Text("has it", style="green"), False: Text("lacks it", style="red"), None: Text("not asked")}
    named = f"{state.tag} is {short(state.named)}" if state.named else f"no tag {state.tag}"
    return Text.assemble(has[state.current], f", {named}" if state.tag else "")


def _copied(build: Build | None, place: str) -> str:
    """What the build's copy to that place took; nothing is said of where it was pushed to."""
    copied = build.copied.get(place) if build else None
    if copied is None:
        return ""
    whole = copied.pushed + copied.mounted + copied.existing
    return f", {volume(copied.pushed)} copied of {volume(whole)}" if whole else ", was there before the copy"


def _widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _field(name: str, value: str | Text) -> Text:
    return Text.assemble(_name(name), value)


def _name(name: str) -> tuple[str, str]:
    return (f"  {name:<11}", "dim")
