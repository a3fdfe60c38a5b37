"""The labels of a pull request that say what its edit does to capacity. Labels of others are left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import asdict, dataclass
from typing import Final, Literal

from pydantic import BaseModel

from infra.github.client import PostingPlace, failures_told
from infra.preview.meaning import Meaning, RiskKind

Label = Literal["capacity-up", "capacity-down", "replaces-vms", "no-change"]
UP: Final = "capacity-up"
DOWN: Final = "capacity-down"
REPLACES: Final = "replaces-vms"
NOTHING: Final = "no-change"


@dataclass(frozen=True, slots=True)
class Look:
    color: str
    description: str


OURS: Final[Mapping[Label, Look]] = {
    UP: Look("0e8a16", "Some pool gets more chips"),
    DOWN: Look("fbca04", "Some pool gets fewer chips"),
    REPLACES: Look("d93f0b", "VMs are deleted and made again"),
    NOTHING: Look("ededed", "No stack changes"),
}


def wanted(meanings: Iterable[Meaning]) -> frozenset[Label]:
    """The labels for what the edit means to all stacks together; a swap is both up and down."""
    meanings = tuple(meanings)
    deltas = [pool.chips.delta for meaning in meanings for pool in meaning.pools]
    risks = [risk.kind for meaning in meanings for risk in meaning.risks]
    said: dict[Label, bool] = {
        UP: any(delta > 0 for delta in deltas),
        DOWN: any(delta < 0 for delta in deltas),
        REPLACES: RiskKind.REPLACE in risks,
        NOTHING: not any(meaning.changed for meaning in meanings),
    }
    return frozenset(label for label, holds in said.items() if holds)


class _Named(BaseModel):
    name: str


def put(place: PostingPlace, pull: int, labels: Set[Label]) -> None:
    """Let the pull request have, of our labels, exactly these."""
    with failures_told(f"setting the labels of pull request {pull}"):
        has = {label.name for label in place.listed(f"issues/{pull}/labels", _Named)}
        for label in sorted(has & OURS.keys() - labels):
            # 404: somebody took it off just now.
            place.ask("DELETE", f"issues/{pull}/labels/{label}", takes=frozenset({404}))
        missing = sorted(labels - has)
        for label in missing:
            make(place, label, OURS[label])
        if missing:
            place.ask("POST", f"issues/{pull}/labels", {"labels": missing})


def make(place: PostingPlace, label: str, look: Look) -> None:
    """Let the repository have a label; one that is there keeps the looks that people gave it."""
    # 422: it exists, or was made by another job just now.
    place.ask("POST", "labels", {"name": label, **asdict(look)}, takes=frozenset({422}))
