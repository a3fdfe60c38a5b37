"""Images for people: tables of what is declared, what stands and what names a digest; or all of one image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from infra.cli.render.console import table
from infra.model.images.answers import PinFinding, PinOutcome
from infra.model.images.pins import Base, Download
from infra.model.images.rebuilds import Rebuild
from infra.operations.images.state import Found, ImageStanding, ImageState, Moved, PlaceState, place_in_short
from infra.preview.image_words import PIN_WORDS, SHORT, age, built, copied, cost_words, pinned, short, volume, when


def images_table(found: Sequence[ImageStanding], now: datetime) -> Table:
    """One row an image, parents before children."""
    drawn = table("image", "builder", "digest", "age", "places", right=("age",), folded=("places",))
    for each in found:
        current = each.state.current
        drawn.add_row(
            f"{'  ' * each.depth}{each.image.name}",
            each.image.builder.value,
            short(current.digest) if current else "never built",
            age(now, current.built) if current else "-",
            places_line(each.state),
        )
    return drawn


def pools_table(states: Sequence[ImageState], now: datetime) -> Table:
    """One row a pool: what it runs, and how that stands to the current build of the image."""
    drawn = table("pool", "image", "digest", "since", "build", right=("since",), folded=("build",))
    images = {state.image: state for state in states}
    targets = {pool: target for state in states for pool, target in state.pools.items()}
    for pool, target in sorted(targets.items()):
        if target is None:
            drawn.add_row(pool, "-", "-", "-", Text("none promoted", style="yellow"))
        else:
            build = _behind(images.get(target.image), target.digest)
            drawn.add_row(pool, target.image, short(target.digest), age(now, target.since), build)
    return drawn


def rebuilds_table(found: Sequence[Rebuild]) -> Table:
    """One row an image that is rebuilt, in the order in which they are."""
    drawn = table("", "image", "builder", "places", "why", right=("", "places"), folded=("why",))
    for number, each in enumerate(found, start=1):
        drawn.add_row(str(number), each.image, each.builder.value, str(len(each.targets)), each.reason)
    return drawn


def pins_table(bases: Mapping[str, Base], downloads: Mapping[str, Download]) -> Table:
    """One row an entry of the pin table."""
    titles = ("entry", "what", "pinned", "read")
    drawn = table(*titles, folded=titles)
    for name, base in bases.items():
        drawn.add_row(name, f"{base.image}:{base.tag}", pinned(base.digest), base.read.isoformat())
    for name, download in downloads.items():
        drawn.add_row(name, download.version, pinned(download.sha256), download.read.isoformat())
    return drawn


def findings_table(findings: Iterable[PinFinding]) -> Table:
    """One row an entry: what is pinned, and what is there today."""
    titles = ("entry", "pinned", "today", "")
    drawn = table(*titles, folded=titles)
    for each in findings:
        style = "red" if each.outcome is PinOutcome.CHANGED else ""
        answered = pinned(each.answer.value) if each.differs else ""
        drawn.add_row(each.answer.name, pinned(each.pinned), answered, PIN_WORDS[each.outcome], style=style)
    return drawn


def uses_table(found: Found) -> Table:
    """One row a thing that names a digest; tags stand beside their places."""
    drawn = table("kind", "named by", "how", folded=("named by", "how"))
    tags = {each.subject: each.detail for each in found.uses if each.kind == "tag"}
    for each in found.uses:
        if each.kind == "registry":
            drawn.add_row(each.kind, place_in_short(each.subject), tags.get(each.subject, "no tag"))
        elif each.kind != "tag":
            drawn.add_row(each.kind, each.subject, each.detail)
    return drawn


def moved_lines(moved: Moved) -> Iterator[Text]:
    """What a promotion or an undo came to for one pool."""
    what = f"{moved.image}@{moved.digest}"
    if moved.finished:
        said = f"an earlier command had been cut off and is finished now; the target is {what}. Nothing was taken back"
    elif not moved.changed:
        again = f"where it was taken back, `./tidepool rollout redo {moved.pool}` tries it again"
        said = f"{what} was its target already; {'the pointer names it now' if moved.pointer else again}"
    else:
        said = what
    yield Text.assemble((f"{moved.pool}: ", "bold"), said)
    if moved.before and moved.before != moved.digest:
        yield Text(f"  before: {moved.before}", style="dim")
    told = "the controller rolls it out" if moved.pointer else "the pointer named it before"
    yield Text(f"  {told}; {len(moved.kept)} tags set, {len(moved.released)} taken away", style="dim")


def details(found: ImageStanding, now: datetime) -> Iterator[Text]:
    """All of one image, a line each."""
    image, state, cost = found.image, found.state, found.cost
    yield Text.assemble((image.name, "bold"), f" built by {image.builder.value} from {image.context.repository}")
    yield _field("parents", ", ".join(image.parents) or "none")
    yield _field("when", when(image))
    yield _field("platforms", ", ".join(image.platforms))
    yield _field("tags", ", ".join(image.tags) or "none")
    yield _field("unresolved", ", ".join(found.unresolved) or "none")
    for number, (pool, target) in enumerate(state.pools.items()):
        runs = f"{target.image} {short(target.digest)}, " if target else ""
        said = _behind(state if target.image == state.image else None, target.digest) if target else "none promoted"
        yield Text.assemble(_name("pools" if number == 0 else ""), f"{pool:<{_widest(state.pools)}}  {runs}", said)
    if state.current is None:
        yield _field("current", "never built")
    else:
        yield _field("current", short(state.current.digest))
        yield _field("built", built(state.current, now))
        if state.current.size_bytes is not None:
            yield _field("size", f"{volume(state.current.size_bytes)} to pull")
        if cost is not None:
            yield _field("cost", cost_words(cost))
        for repository, commit in sorted(state.current.revision.items()):
            yield _field("from", f"{repository} {commit[:SHORT]}")
        for parent, digest in sorted(state.current.parents.items()):
            yield _field("from", f"{parent} {short(digest)}")
    widest = _widest(each.location for each in state.places)
    for number, each in enumerate(state.places):
        answer = Text.assemble(_answer(each), copied(state.current, each.place))
        yield Text.assemble(_name("places" if number == 0 else ""), f"{each.location:<{widest}}  ", answer)
    for number, each in enumerate(state.history):
        yield _field("earlier" if number == 0 else "", f"{short(each.digest)}  {built(each, now)}")
    if state.current:
        yield Text(f"{state.places[0].place}@{state.current.digest}", style="dim")


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


def _answer(state: PlaceState) -> Text:
    if state.problem:
        return Text("did not answer", style="yellow")
    has = {True: Text("has it", style="green"), False: Text("lacks it", style="red"), None: Text("not asked")}
    named = f"{state.tag} is {short(state.named)}" if state.named else f"no tag {state.tag}"
    return Text.assemble(has[state.current], f", {named}" if state.tag else "")


def _widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _field(name: str, value: str | Text) -> Text:
    return Text.assemble(_name(name), value)


def _name(name: str) -> tuple[str, str]:
    return (f"  {name:<11}", "dim")
