"""Words about images: digests in short, ages, sizes, what begins a build, what it cost; tables of what is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from infra.model.images.answers import PinFinding, PinOutcome
from infra.model.images.cost import BuildCost
from infra.model.images.pins import Base, Download
from infra.model.images.rebuilds import Rebuild
from infra.model.images.record import RecordOutcome
from infra.model.images.record_documents import Build
from infra.model.images.spec import Image
from infra.preview.toned import TextTable, Tone, TonedLine, text_table, toned

SHORT: Final = 12
"""Hexadecimal digits of a digest that are shown where its whole length has no room."""
PIN_WORDS = {
    PinOutcome.SAME: "as pinned",
    PinOutcome.RESOLVED: "now known",
    PinOutcome.NEWER: "the tag names a newer image",
    PinOutcome.CHANGED: "OTHER BYTES at the same address: look before anything is built from it",
}
RECORD_WORDS = {
    RecordOutcome.CURRENT: "recorded",
    RecordOutcome.UNCHANGED: "recorded before",
    RecordOutcome.OLDER: "kept in the history: the record names a build of newer sources",
}
_KILO, _MEGA = 1_000, 1_000_000


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


def when(image: Image) -> str:
    when = image.when
    said = []
    if when.push:
        said.append(f"a push to {when.push.branch}")
    if when.schedule:
        said.append(f"{when.schedule.cron} ({when.schedule.time_zone})")
    if when.after:
        said.append(f"after {when.after}")
    return ", ".join(said) or "by hand"


def built(build: Build, now: datetime) -> str:
    return f"{build.built:%Y-%m-%d %H:%M} UTC, {age(now, build.built)} ago, by {build.build}"


def cost_words(cost: BuildCost) -> str:
    said = f"${cost.usd} for {max(1, cost.seconds // 60)} min on {cost.machine}"
    return f"{said}; its {cost.times} times a month ${cost.usd_per_month}" if cost.times else said


def copied(build: Build | None, place: str) -> str:
    """What the build's copy to that place took; nothing is said of where it was pushed to."""
    copied = build.copied.get(place) if build else None
    if copied is None:
        return ""
    whole = copied.pushed + copied.mounted + copied.existing
    return f", {volume(copied.pushed)} copied of {volume(whole)}" if whole else ", was there before the copy"


def pinned(value: str) -> str:
    """`sha256:` and the first digits, or `unresolved`."""
    kind, colon, digits = value.rpartition(":")
    return f"{kind}{colon}{digits[:SHORT]}"


def trigger_words(image: str, *, recorded: bool, minutes: int) -> TonedLine:
    """What has become of a build that was started in the cloud. minutes: for how long it was waited for."""
    if recorded:
        return toned(f"{image} is recorded; `./tidepool images promote {image} --pool POOL` gives it to a pool")
    if not minutes:
        return toned(f"{image} is started")
    said = f"{image} is not recorded after {minutes} minutes; the build goes on without this command"
    return toned((said, Tone.WARNING))


def rebuilds_table(found: Sequence[Rebuild]) -> TextTable:
    """One row an image that is rebuilt, in the order in which they are."""
    rows = (
        (str(number), each.image, each.builder.value, str(len(each.targets)), each.reason)
        for number, each in enumerate(found, start=1)
    )
    return text_table(("", "image", "builder", "places", "why"), rows, right=("", "places"), folded=("why",))


def pins_table(bases: Mapping[str, Base], downloads: Mapping[str, Download]) -> TextTable:
    """One row an entry of the pin table."""
    titles = ("entry", "what", "pinned", "read")
    images = [
        (name, f"{base.image}:{base.tag}", pinned(base.digest), base.read.isoformat()) for name, base in bases.items()
    ]
    files = [(name, each.version, pinned(each.sha256), each.read.isoformat()) for name, each in downloads.items()]
    return text_table(titles, images + files, folded=titles)


def findings_table(findings: Iterable[PinFinding]) -> TextTable:
    """One row an entry: what is pinned, and what is there today."""
    titles = ("entry", "pinned", "today", "")
    return text_table(titles, map(_finding_row, findings), folded=titles)


def _finding_row(each: PinFinding) -> tuple[TonedLine, ...]:
    tone = Tone.PROBLEM if each.outcome is PinOutcome.CHANGED else Tone.PLAIN
    answered = pinned(each.answer.value) if each.differs else ""
    cells = (each.answer.name, pinned(each.pinned), answered, PIN_WORDS[each.outcome])
    return tuple(toned((cell, tone)) for cell in cells)
