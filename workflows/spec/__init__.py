"""What a consumer repository wants tested, built and published, one YAML file each; how is the generator's.

Owns reading: from YAML to typed values with their lines, or every problem at once. Does not own which keys exist
(model) nor rules between values (rules).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from infra.model import refusals, yamlfile
from infra.model.errors import ConfigError, Problem
from infra.model.images.reading import WrittenFile
from infra.model.yamlfile import YamlPath
from workflows.spec import rules
from workflows.spec.model import Declared
from workflows.world import World

FOLDER = Path("workflows/spec")
PAGE = "docs/workflows.md"


@dataclass(frozen=True, slots=True, order=True)
class SpecLine:
    """A place of a specification: `key` is its path as people write it, such as `tests[0].suites[3]`."""

    file: str
    line: int
    key: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.key}"


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification that holds every rule. file: as people call it. lines: where each key stands."""

    name: str
    file: str
    declared: Declared
    lines: Mapping[YamlPath, int]

    def line(self, *path: str | int) -> SpecLine:
        """Where something stands; the nearest part that is written where it is a default."""
        known: YamlPath = path
        while known and known not in self.lines:
            known = known[:-1]
        return SpecLine(self.file, self.lines.get(known, 1), yamlfile.render(path))


def spec_names(root: Path) -> tuple[str, ...]:
    """The specifications of a checkout, sorted."""
    return tuple(sorted(path.stem for path in (root / FOLDER).glob("*.yaml")))


def load_spec(root: Path, name: str, world: World) -> Spec:
    """The specification `workflows/spec/NAME.yaml`; ConfigError with every problem."""
    path, source = root / FOLDER / f"{name}.yaml", f"{FOLDER}/{name}.yaml"
    if not path.is_file():
        there = ", ".join(spec_names(root)) or "none"
        raise ConfigError([Problem(source, "", f"there is no specification named {name}", f"one of {there}")])
    return read_spec(yamlfile.decoded(path.read_bytes(), source), name, source, world)


def read_spec(text: str, name: str, source: str, world: World) -> Spec:
    """The specification that `text` declares; `source` is how people call its file."""
    written = WrittenFile.read(text, source)
    problems = list(written.problems)
    try:
        declared = Declared.model_validate(written.data)
    except ValidationError as error:
        problems += refusals.problems(error, Declared, written.subject, page=PAGE)
        raise ConfigError(problems) from error
    problems += rules.broken(declared, world, written.subject)
    if problems:
        raise ConfigError(problems)
    return Spec(name, source, declared, written.lines)
