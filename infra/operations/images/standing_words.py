"""How images stand, for people: tables of what is recorded and what names a digest; or all of one image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from infra.operations.images.state import Found, ImageStanding, ImageState, Moved, PlaceState, place_in_short
from infra.preview.image_words import SHORT, age, built, copied, cost_words, short, volume, when
from infra.preview.toned import Cell, TextTable, Tone, TonedLine, text_table, toned


def images_table(found: Sequence[ImageStanding], now: datetime) -> TextTable:
    """One row an image, parents before children."""
    titles = ("image", "builder", "digest", "age", "places")
    return text_table(titles, (_image_row(each, now) for each in found), right=("age",), folded=("places",))


def _image_row(each: ImageStanding, now: datetime) -> tuple[Cell, ...]:
    current, name = each.state.current, f"{'  ' * each.depth}{each.image.name}"
    digest, aged = (short(current.digest), age(now, current.built)) if current else ("never built", "-")
    return name, each.image.builder.value, digest, aged, places_line(each.state)


def pools_table(states: Sequence[ImageState], now: datetime) -> TextTable:
    """One row a pool: what it runs, and how that stands to the current build of the image."""
    images = {state.image: state for state in states}
    targets = {pool: target for state in states for pool, target in state.pools.items()}
    rows: list[tuple[Cell, ...]] = []
    for pool, target in sorted(targets.items()):
        if target is None:
            rows.append((pool, "-", "-", "-", toned(("none promoted", Tone.WARNING))))
        else:
            build = _behind(images.get(target.image), target.digest)
            rows.append((pool, target.image, short(target.digest), age(now, target.since), build))
    return text_table(("pool", "image", "digest", "since", "build"), rows, right=("since",), folded=("build",))


def uses_table(found: Found) -> TextTable:
    """One row a thing that names a digest; tags stand beside their places."""
    tags = {each.subject: each.detail for each in found.uses if each.kind == "tag"}
    rows = (
        (each.kind, place_in_short(each.subject), tags.get(each.subject, "no tag"))
        if each.kind == "registry"
        else (each.kind, each.subject, each.detail)
        for each in found.uses
        if each.kind != "tag"
    )
    return text_table(("kind", "named by", "how"), rows, folded=("named by", "how"))


def moved_lines(moved: Moved) -> Iterator[TonedLine]:
    """What a promotion or an undo came to for one pool."""
    what = f"{moved.image}@{moved.digest}"
    if moved.finished:
        said = f"an earlier command had been cut off and is finished now; the target is {what}. Nothing was taken back"
    elif not moved.changed:
        again = f"where it was taken back, `./tidepool rollout redo {moved.pool}` tries it again"
        said = f"{what} was its target already; {'the pointer names it now' if moved.pointer else again}"
    else:
        said = what
    yield toned((f"{moved.pool}: ", Tone.HEADING), said)
    if moved.before and moved.before != moved.digest:
        yield toned((f"  before: {moved.before}", Tone.QUIET))
    told = "the controller rolls it out" if moved.pointer else "the pointer named it before"
    yield toned((f"  {told}; {len(moved.kept)} tags set, {len(moved.released)} taken away", Tone.QUIET))


def details(found: ImageStanding, now: datetime) -> Iterator[TonedLine]:
    """All of one image, a line each."""
    image, state, cost = found.image, found.state, found.cost
    yield toned((image.name, Tone.HEADING), f" built by {image.builder.value} from {image.context.repository}")
    yield _field("parents", ", ".join(image.parents) or "none")
    yield _field("when", when(image))
    yield _field("platforms", ", ".join(image.platforms))
    yield _field("tags", ", ".join(image.tags) or "none")
    yield _field("unresolved", ", ".join(found.unresolved) or "none")
    for number, (pool, target) in enumerate(state.pools.items()):
        runs = f"{target.image} {short(target.digest)}, " if target else ""
        said = _behind(state if target.image == state.image else None, target.digest) if target else "none promoted"
        yield toned(_name("pools" if number == 0 else ""), f"{pool:<{_widest(state.pools)}}  {runs}", said)
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
        answer = toned(_answer(each), copied(state.current, each.place))
        yield toned(_name("places" if number == 0 else ""), f"{each.location:<{widest}}  ", answer)
    for number, each in enumerate(state.history):
        yield _field("earlier" if number == 0 else "", f"{short(each.digest)}  {built(each, now)}")
    if state.current:
        yield toned((f"{state.places[0].place}@{state.current.digest}", Tone.QUIET))


def places_line(state: ImageState) -> TonedLine:
    """Whether every place has the current digest."""
    count = len(state.places)
    if state.current is None:
        return toned((f"{count} places" if count != 1 else "1 place", Tone.QUIET))
    having = sum(each.current is True for each in state.places)
    silent = sum(each.current is None for each in state.places)
    if silent:
        return toned((f"{having} of {count} have it, {silent} silent", Tone.WARNING))
    if having == count:
        return toned((f"all {count} equal" if count > 1 else "has it", Tone.GOOD))
    return toned((f"{having} of {count} have it", Tone.PROBLEM))


def _behind(state: ImageState | None, digest: str) -> TonedLine:
    """`current`, or by how many builds a digest is older than that; nothing is said of what the record forgot."""
    builds = (state.current, *state.history) if state and state.current else ()
    behind = next((number for number, build in enumerate(builds) if build.digest == digest), None)
    if behind is None:
        return toned("-")
    if behind == 0:
        return toned(("current", Tone.GOOD))
    return toned((f"{behind} {'build' if behind == 1 else 'builds'} behind", Tone.WARNING))


def _answer(state: PlaceState) -> TonedLine:
    if state.problem:
        return toned(("did not answer", Tone.WARNING))
    has = {True: toned(("has it", Tone.GOOD)), False: toned(("lacks it", Tone.PROBLEM)), None: toned("not asked")}
    named = f"{state.tag} is {short(state.named)}" if state.named else f"no tag {state.tag}"
    return toned(has[state.current], f", {named}" if state.tag else "")


def _widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _field(name: str, value: Cell) -> TonedLine:
    return toned(_name(name), value)


def _name(name: str) -> tuple[str, Tone]:
    return (f"  {name:<11}", Tone.QUIET)
