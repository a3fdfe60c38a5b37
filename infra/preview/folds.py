"""What is new, told by kind with counts where there is too much of it for names.

Owns what is folded: resources that are made or adopted, and nothing else. What goes, what is replaced and what failed
is named always, and so are TPU VMs and node pools, whose neighbouring indexes are one name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from infra.model.plan import Op, Step
from infra.model.planned_capacity import holds_slices
from infra.preview.sentences import plural
from infra.preview.words import short_type

NAMED: Final = 8
"""So many resources beside VMs are told by their names."""
PLACES: Final = 3
"""So many locations of one kind are told."""
A_PLACE: Final = 4
"""A kind with more than so many in a location, such as grants, is told without them."""
COMPONENTS: Final = "components"
"""What stands for the program's own components, which are in the state alone."""
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
