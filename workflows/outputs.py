"""Every file of this repository that is generated from specifications, stacks and images, by path.

Owns which files those are and where they go. What cannot be generated is told in place of its files, so that one
mistake does not hide the rest. Leaves reading a checkout's files and writing them to the commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from infra.model import demand
from infra.model.demand import Demands
from infra.model.errors import ConfigError, Problem
from workflows import composite, labels
from workflows.demands import START_UP, Asking, demands, written
from workflows.generate import FOLDER, Generated, generate
from workflows.own import generate_own
from workflows.read import read_file
from workflows.spec import Spec, load_spec, spec_names
from workflows.world import ACTIONS, World

COPIES: Final = "workflows/generated"
"""Where the files of a specification stand for reading, below its name, as they stand in their repository."""
OWN: Final = "workflows/own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """texts: by path. problems: what kept the files of a specification from being made, by the specification's file.

    actions: those of the texts that are this project's actions, all of them where there are no problems.
    demands: None where some could not be made, so that what all of them ask is not known.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    demands: Demands | None = None

    def hides(self, path: str) -> bool:
        """Whether a problem keeps the file from being made, so that its absence says nothing."""
        return path.startswith(self.hidden)


def outputs(root: Path, world: World) -> Outputs:
    """All of them, with the specifications of a checkout."""
    texts: dict[str, str] = {}
    made: list[Generated] = []
    problems: dict[str, tuple[Problem, ...]] = {}
    hidden: list[str] = []
    specs: list[Spec] = []
    asking: list[Asking] = []
    for name in spec_names(root):
        folder = f"{COPIES}/{name}"
        try:
            spec = load_spec(root, name, world)
            files = generate(spec, world)
        except ConfigError as error:
            problems[f"workflows/spec/{name}.yaml"] = error.problems
            hidden.append(f"{folder}/")
            continue
        repository = spec.declared.repository
        specs.append(spec)
        made += files
        asking += _asking(repository, files, spec.file)
        texts |= {f"{folder}/{each.path}": each.text for each in files}
        texts |= {f"{folder}/{path}": text for path, text in labels.files(repository, world).items()}
    own = world.images.recipes
    try:
        files = generate_own(world)
        made += files
        asking += _asking(own, files)
        texts |= {each.path: each.text for each in files}
    except ConfigError as error:
        problems[OWN] = error.problems
        hidden.append(f"{FOLDER}/")
    texts |= labels.files(own, world)
    actions = composite.texts(each.workflow for each in made)
    texts |= actions
    if problems:
        return Outputs(texts=texts, actions=actions, problems=problems, hidden=(*hidden, f"{ACTIONS}/", demand.FILE))
    asking += _written_by_hand(root, own, texts)
    found = demands(asking, specs, world, (root / START_UP).read_text(encoding="utf-8"))
    return Outputs(texts=texts | {demand.FILE: written(found)}, actions=actions, demands=found)


def _written_by_hand(root: Path, repository: str, generated: Mapping[str, str]) -> Iterator[Asking]:
    """The workflows of this repository that nothing generates."""
    for path in sorted((root / FOLDER).glob("*.y*ml")):
        file = read_file(path, root)
        if file.source not in generated:
            yield Asking(repository=repository, file=file.source, data=file.data)


def _asking(repository: str, files: tuple[Generated, ...], source: str = "") -> list[Asking]:
    return [Asking(repository=repository, file=each.path, data=each.workflow.plain(), source=source) for each in files]
