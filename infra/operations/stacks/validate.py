"""Whether stack files are right, all their mistakes at once, for a hook before a commit. No engine, cloud or git."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.model.errors import ConfigError, Problem, unchecked_lines
from infra.model.json_shape import JsonShape
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.operations.workspace import workspace


@dataclass(frozen=True, slots=True)
class Validated(JsonShape):
    """The stacks that were read, and every problem of any of them, sorted.

    unchecked: the stacks that could not be checked, each with those that it reads and whose files have mistakes.
    """

    JSON = ("stacks", "problems", "unchecked")

    stacks: tuple[str, ...]
    problems: tuple[Problem, ...]
    unchecked: Mapping[str, tuple[str, ...]]

    @property
    def lines(self) -> tuple[str, ...]:
        """For people: each problem with its file and line, or that there is none."""
        if self.problems:
            return ("\n\n".join([*map(str, self.problems), *unchecked_lines(self.unchecked)]),)
        return (f"{', '.join(self.stacks)}: valid" if self.stacks else "there is no stacks/Pulumi.STACK.yaml yet",)


def validate(given: Sequence[str]) -> Validated:
    """Judge these stacks, all where none is given, each beside the others. given: names, or paths of stack files."""
    root = workspace().root
    names = tuple(dict.fromkeys(map(_name, given))) or stack_names(root)
    found: list[Problem] = []
    unchecked: dict[str, tuple[str, ...]] = {}
    for name in names:
        try:
            load_stack(root, name)
        except ConfigError as error:
            found += error.problems
            unchecked |= error.unchecked
    return Validated(names, ConfigError(found).problems, unchecked)


def _name(given: str) -> str:
    return Path(given).name.removeprefix("Pulumi.").removesuffix(".yaml")
