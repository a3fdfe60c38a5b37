"""How rules are written and called: a rule names the sections that it reads, as parameters with the types of these.

A rule runs only where these sections are valid, so it finds every field that its types declare:

- `cluster: Cluster`: the section is declared and valid.
- `cluster: Cluster | None`: the section is valid or absent.
- `pools: tuple[Pool, ...]`: the whole list is valid, for rules about what the list lacks.
- `pools: Items[Pool]`: the valid items with their indices, for rules that other items cannot satisfy.
- `config: StackConfig`: the valid items of all lists, for sums. `siblings`: the other stacks that are known.
- `estate: Estate`: every stack of the repository, all of them valid, for rules about what no stack has.
- `subject: Subject`: how messages name a path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from infra.model.catalogue import Generation
from infra.model.errors import Problem, shown, suggestion
from infra.model.partial import Draft, UnsureStack
from infra.model.refusals import Subject
from infra.model.schema import StackConfig
from infra.model.yamlfile import YamlPath

T = TypeVar("T")
Items = Sequence[tuple[int, T]]
Estate = Sequence[StackConfig]
Rule = Callable[..., Iterator[Problem]]


def run(rule: Rule, parts: Draft, siblings: Sequence[StackConfig] | None, subject: Subject) -> Iterator[Problem]:
    """What a rule finds in the valid parts of a file; nothing where a section that it reads is not valid.

    siblings: the other stacks, None where they are not known.
    """
    given: dict[str, Any] = {"config": parts.config, "siblings": siblings or (), "subject": subject}
    if siblings is not None and not any(isinstance(each, UnsureStack) for each in siblings):
        given["estate"] = (parts.config, *siblings)
    arguments: dict[str, Any] = {}
    for name, kind in rule.__annotations__.items():
        if name in given:
            arguments[name] = given[name]
        elif kind.startswith("Items["):
            arguments[name] = parts.items(name)
        elif name != "return":
            value = getattr(parts.config, name, None)
            if name in parts.refused or (value is None and not kind.endswith("| None")):
                return
            arguments[name] = value
    yield from rule(**arguments)


def repeats(
    values: Iterable[tuple[int, str]], subject: Subject, at: YamlPath, rule: str, *below: str, any_case: bool = False
) -> Iterator[Problem]:
    """Each value, with its index, that another one of the same list equals; `below` is the part that repeats."""
    seen: set[str] = set()
    for number, value in values:
        same = value.lower() if any_case else value
        if same in seen:
            yield Problem(subject((*at, number, *below)), shown(value), rule, "remove one of the two")
        seen.add(same)


def zone_without(generation: Generation, zone: str, where: str) -> Problem:
    """A zone that has not this generation, not even seen."""
    fix = suggestion(zone, generation.zones, f"a zone that has {generation.name}")
    return Problem(where, shown(zone), f"{zone} has no {generation.name}", fix)
