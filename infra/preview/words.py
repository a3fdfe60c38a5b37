"""Words that text and markdown share: types, runs of names, changed properties, and times in UTC.

Does not own colour, markup or order.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, TypeVar

from infra.model.names import is_node_pool
from infra.model.phases import Phases
from infra.model.plan import Diagnostic, Op, PropertyChange, Step
from infra.model.planned_capacity import VM_TYPE
from infra.model.planned_records import is_record
from infra.model.property_paths import parse, render_below

SIGNS = {
    Op.CREATE: "+",
    Op.ADOPT: "<",
    Op.UPDATE: "~",
    Op.REPLACE: "!",
    Op.DELETE: "-",
    Op.RETAIN: "o",
    Op.READ: ">",
    Op.SAME: "=",
}
WORDS = {
    Op.CREATE: ("creating", "created"),
    Op.UPDATE: ("updating", "updated"),
    Op.REPLACE: ("replacing", "replaced"),
    Op.DELETE: ("deleting", "deleted"),
    Op.RETAIN: ("retaining", "retained"),
    Op.READ: ("reading", "read"),
    Op.ADOPT: ("adopting", "adopted"),
    Op.SAME: ("checking", "unchanged"),
}

MAX_VALUE = 48
K = TypeVar("K", bound=Hashable)
_INDEXED = re.compile(r"(.*-)(\d+)")


def short_type(token: str) -> str:
    """`gcp:tpu/v2Vm:V2Vm` -> `tpu.V2Vm`; a component keeps its room: `tidepool:runners:Pool` -> `runners.Pool`."""
    package, _, rest = token.partition(":")
    module, _, name = rest.partition(":")
    if package == "pulumi":
        return f"{module}.{name}" if module == "providers" else "stack"
    return f"{module.partition('/')[0]}.{name}"


def ranges(names: Iterable[str]) -> list[str]:
    """Names with neighbouring indexes as one: `tpu-ci-us-west4-a-0`, `-1`, `-2` -> `tpu-ci-us-west4-a-{0..2}`."""
    indexed: defaultdict[str, list[int]] = defaultdict(list)
    plain: list[str] = []
    for name in names:
        found = _INDEXED.fullmatch(name)
        if found:
            indexed[found[1]].append(int(found[2]))
        else:
            plain.append(name)
    runs = [(stem, run) for stem, indexes in indexed.items() for run in _runs(indexes)]
    return sorted(plain + [f"{stem}{low}" if low == high else f"{stem}{{{low}..{high}}}" for stem, (low, high) in runs])


def vms(names: Sequence[str]) -> str:
    """`3 VMs (tpu-ci-us-west4-a-{0..2})`; node pools apart from VMs."""
    return " and ".join(f"{noun} ({', '.join(ranges(group))})" for noun, group in _by_noun(names))


def counted(names: Sequence[str]) -> str:
    """`3 VMs`, `1 node pool`, or both."""
    return " and ".join(noun for noun, _ in _by_noun(names))


def _by_noun(names: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """What they are, with their number."""
    pools = [name for name in names if is_node_pool(name)]
    machines = [name for name in names if not is_node_pool(name)]
    for noun, group in (("VM", machines), ("node pool", pools)):
        if group or (noun == "VM" and not names):
            yield f"{len(group):,} {noun}{'' if len(group) == 1 else 's'}", group


def why_phases(order: Phases) -> str:
    """Why an apply takes more than one phase, after their number."""
    parts = ["shrink before grow"] if order.first or order.shrunk else []
    parts += ["what goes stands until what is new serves"] if order.retires else []
    return ", ".join(parts)


def _runs(indexes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Unbroken runs of indexes as (lowest, highest)."""
    for _, run in groupby(enumerate(sorted(indexes)), key=lambda pair: pair[1] - pair[0]):
        members = [index for _, index in run]
        yield members[0], members[-1]


def grouped(steps: Iterable[Step], key: Callable[[Step], K]) -> list[tuple[K, list[Step]]]:
    """Steps by key, TPU VMs first, then by key."""
    groups: defaultdict[K, list[Step]] = defaultdict(list)
    for step in steps:
        groups[key(step)].append(step)
    return sorted(groups.items(), key=lambda group: (group[1][0].type != VM_TYPE, group[0]))


def told(said: Diagnostic) -> str:
    """What was said, behind the name and type of the resource that it is about; of the stack as a whole, alone."""
    parts = said.urn.split("::", 3)
    kind = short_type(parts[2].rpartition("$")[2]) if len(parts) == 4 else "stack"
    if kind == "stack" or said.message.startswith(("urn:", parts[3])):
        return said.message
    return f"{parts[3]} ({kind}): {said.message}"


def told_once(said: Iterable[Diagnostic]) -> Iterator[tuple[Diagnostic, str]]:
    """The same of several resources once: the first of them by name, with how many more it is about. Of errors each
    names its resource, for each is to be mended."""
    alike: defaultdict[tuple[str, str, str], list[Diagnostic]] = defaultdict(list)
    for each in said:
        alike[each.severity, each.message, each.urn if each.severity == "error" else ""].append(each)
    for first, *others in (sorted(each, key=lambda one: one.urn) for each in alike.values()):
        more = len({each.urn for each in others} - {first.urn})
        yield first, f"{told(first)} (so for {more} more)" if more else told(first)


def change_lines(step: Step) -> list[str]:
    """A line for each property that differs, those that force a replacement first; none of the fleet's records, whose
    changes `infra.model.planned_records` tells.
    """
    if is_record(step):
        return []
    paths = sorted(step.diff, key=lambda path: (not step.diff[path].replaces, path))
    said = [_change(by_name(step, path), step.diff[path]) for path in paths]
    return said or [f"{path} forces it" for path in step.replace_reasons]


def by_name(step: Step, path: str) -> str:
    """A property's path, in which items of lists that have names are told by those: `flavors[v4-32-spot].resources`."""
    sides = [side for side in (step.old_inputs, step.new_inputs) if side is not None]
    text = ""
    for part in parse(path):
        sides = [_below(side, part) for side in sides]
        named = {side["name"] for side in sides if isinstance(side, Mapping) and isinstance(side.get("name"), str)}
        text += f"[{named.pop()}]" if isinstance(part, int) and len(named) == 1 else render_below(part, text)
    return text


def _below(value: Any, part: str | int) -> Any:
    """What stands there, None for nothing."""
    if isinstance(part, int):
        return value[part] if isinstance(value, Sequence) and part < len(value) else None
    return value.get(part) if isinstance(value, Mapping) else None


def _change(path: str, change: PropertyChange) -> str:
    forces = "  (forces the replacement)" if change.replaces else ""
    if change.kind == "add":
        return f"{path}: added {shown(change.after)}{forces}"
    if change.kind == "delete":
        return f"{path}: {shown(change.before)} removed{forces}"
    before, after = shown(change.before), shown(change.after)
    if before == after:
        return f"{path}: changed{forces}"
    return f"{path}: {before} -> {after}{forces}"


def shown(value: Any) -> str:
    """A value on one line: text as it is, all else as JSON; a long one is cut and says how long it was."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    text = " ".join(text.split()) or '""'
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 16]}... ({len(text):,} characters)"


def number(count: int | None) -> str:
    """A number; a question mark where nobody knows it."""
    return "?" if count is None else f"{count:,}"


def span(time: timedelta) -> str:
    """`40 s`, `5 min`, `3 h 10 min`, `2 d 4 h`: two units at most, and nothing below zero."""
    seconds = max(0, int(time.total_seconds()))
    if seconds < 90:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, left = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {left} min" if left else f"{hours} h"
    days, left = divmod(hours, 24)
    return f"{days} d {left} h" if left else f"{days} d"


def ago(at: datetime, now: datetime) -> str:
    return f"{span(now - at)} ago" if at <= now else f"in {span(at - now)}"


def clock(at: datetime, now: datetime) -> str:
    """The time of day, with the date where it is not today's."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    return f"{at:%H:%M}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M}"


def due(at: datetime, now: datetime) -> str:
    """By when something is over: seconds count as a minute, for at 18:03:09 nothing waits until 18:03."""
    return clock(at + timedelta(minutes=1, microseconds=-1), now)


def since(at: datetime | None, now: datetime) -> str:
    """`since 12:03, 5 min`; where nobody knows it, nothing."""
    return f"since {clock(at, now)}, {span(now - at)}" if at else ""


def ended_words(stack: str, names: Sequence[str]) -> str:
    """What VMs that have ended mean, and the command that makes them again."""
    what = f"{names[0]} gives" if len(names) == 1 else f"{len(names)} VMs give"
    again = "it" if len(names) == 1 else "them"
    return (
        f"{what} no capacity until the controller makes {again} again, which up does not: ./tidepool reconcile {stack}"
    )


def missing_words(stack: str, names: Sequence[str]) -> str:
    """What says why declared VMs are not there, and the command that makes them."""
    what, them = (f"{names[0]} is", "it") if len(names) == 1 else (f"{len(names)} VMs are", "them")
    why = f"`./tidepool why {names[0]}` says why"
    return f"{what} not there; {why}, and the controller makes {them}: ./tidepool reconcile {stack}"
