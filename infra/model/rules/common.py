"""What every rule is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from infra.model.catalogue import Generation
from infra.model.errors import Problem, shown
from infra.model.refusals import Subject
from infra.model.schema import StackConfig
from infra.model.yamlfile import YamlPath

T = TypeVar("T")

Rule = Callable[[StackConfig, Sequence[StackConfig], Subject], Iterator[Problem]]
"""Takes the stack, its siblings, and how to say where a path stands."""


def right(items: Iterable[T]) -> Iterator[tuple[int, T]]:
    """The items of a list that are right by themselves, with their places in it."""
    return ((number, item) for number, item in enumerate(items) if item is not None)


def repeats(
    values: Iterable[str | None], subject: Subject, at: YamlPath, rule: str, *below: str, any_case: bool = False
) -> Iterator[Problem]:
    """Each value that stood before in the same list; `below` is the part of an item that repeats."""
    seen: set[str] = set()
    for number, value in enumerate(values):
        if value is None:
            continue
        same = value.lower() if any_case else value
        if same in seen:
            yield Problem(subject((*at, number, *below)), shown(value), rule, "remove one of the two")
        seen.add(same)


def zone_without(generation: Generation, zone: str, where: str) -> Problem:
    """A zone that has not this generation, not even seen."""
    return Problem(where, shown(zone), f"{zone} has no {generation.name}", f"one of {', '.join(generation.zones)}")
