"""Resources by their names, and what is new by kind with counts where there is too much of it for names.

Owns what is folded: resources that are made or adopted, and nothing else. What goes, what is replaced and what failed
is named always, and so are TPU VMs and node pools, whose neighbouring indexes are one name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from infra.model.plan import Op, Plan, Step
from infra.model.planned_capacity import holds_slices
from infra.preview.markup import clipped
from infra.preview.sentences import plural
from infra.preview.toned import Part, Tone, TonedLine, toned
from infra.preview.words import grouped, ranges, short_type

NAMED: Final = 8
"""So many resources beside VMs are told by their names."""
PLACES: Final = 3
"""So many locations of one kind are told."""
A_PLACE: Final = 4
"""A kind with more than so many in a location, such as grants, is told without them."""
COMPONENTS: Final = "components"
"""What stands for the program's own components, which are in the state alone."""
NAMES_A_LINE: Final = 24
_LONGEST_NAME: Final = 120
FOLDED: Final = frozenset((Op.CREATE, Op.ADOPT))


@dataclass(frozen=True, slots=True)
class Fold:
    """The resources of one service: `artifactregistry: 16 Repository (europe, us and 6 more), 92 RepositoryIamMember`.

    service: `components` for the program's own. steps: each of them.
    """

    service: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        if self.service == COMPONENTS:
            return plural(len(self.steps), "component")
        kinds: defaultdict[str, list[Step]] = defaultdict(list)
        for step in self.steps:
            kinds[short_type(step.type).rpartition(".")[2]].append(step)
        said = (f"{len(group):,} {kind}{_places(group)}" for kind, group in sorted(kinds.items()))
        return f"{self.service}: {', '.join(said)}"


def folded(steps: Sequence[Step], *, every: bool = False) -> tuple[list[Step], list[Fold]]:
    """Those to be told by name, and the folds of the others; by name all of few, or where every name is asked for."""
    rest = [step for step in steps if not holds_slices(step)]
    if every or len(rest) <= NAMED:
        return list(steps), []
    return [step for step in steps if holds_slices(step)], folds(rest)


def folds(steps: Iterable[Step]) -> list[Fold]:
    """One a service, sorted, the program's own components last."""
    services: defaultdict[str, list[Step]] = defaultdict(list)
    for step in steps:
        services[service(step)].append(step)
    ordered = sorted(services.items(), key=lambda each: (each[0] == COMPONENTS, each[0]))
    return [Fold(name, tuple(group)) for name, group in ordered]


def service(step: Step) -> str:
    """The service that a resource is of."""
    if not step.type.startswith(("gcp:", "kubernetes:")):
        return COMPONENTS
    return short_type(step.type).partition(".")[0]


def _places(group: Sequence[Step]) -> str:
    """Where they are, if in several locations and all say it: ` (europe-west4, us-central1 and 4 more)`."""
    inputs = [step.new_inputs or {} for step in group]
    names = sorted({str(each.get("location") or each.get("region") or "") for each in inputs})
    if "" in names or len(names) == 1 or len(group) > A_PLACE * len(names):
        return ""
    more = f" and {len(names) - PLACES} more" if len(names) > PLACES else ""
    return f" ({', '.join(names[:PLACES])}{more})"


def of(plan: Plan, op: Op) -> list[Step]:
    """The plan's steps of one kind, by name."""
    return sorted((step for step in plan.steps if step.op is op), key=lambda step: (step.name, step.urn))


def listed(steps: Sequence[Step]) -> Iterator[TonedLine]:
    """`3 tpu.V2Vm: names` for each type; more names than a line has room for go on in further ones."""
    for token, group in grouped(steps, lambda step: step.type):
        for index, names in enumerate(runs(group)):
            yield toned(f"{len(group):,} ", code_name(short_type(token)), ": ", names) if index == 0 else names


def runs(steps: Sequence[Step]) -> Iterator[TonedLine]:
    """Names, those with neighbouring indexes as one, a few on a line."""
    names = ranges(step.name for step in steps)
    for start in range(0, len(names), NAMES_A_LINE):
        some = [code_name(each) for each in names[start : start + NAMES_A_LINE]]
        yield toned(some[0], *(part for each in some[1:] for part in (", ", each)))


def code_name(text: str) -> Part:
    """One longer than any that a cloud takes is cut."""
    return clipped(text, _LONGEST_NAME), Tone.NAME
