"""Every file of this repository that is generated from specifications, stacks and images, by path.

Owns which files those are and where they go. What cannot be generated is told in place of its files, so that one
mistake does not hide the rest. Leaves reading a checkout's files and writing them to the commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from infra.model import demand, stack_schema
from infra.model.demand import WRITE, Demands
from infra.model.errors import ConfigError, Problem
from infra.model.fields.fleet import is_github_own_label
from workflows import composite
from workflows.demands import START_UP, Asking, demands, written
from workflows.dump import CommentedData, dump
from workflows.generate import FOLDER, Generated, generate
from workflows.own import generate_own
from workflows.read import read_file
from workflows.spec import Spec, load_spec, spec_names
from workflows.world import ACTIONS, World

COPIES: Final = "workflows/generated"
"""Where the files of a specification stand for reading, below its name, as they stand in their repository."""
OWN: Final = "workflows/own"
LABELS: Final = ".github/actionlint.yaml"
_HEADER: Final = (
    f"Generated from the pools of the stacks by Tidepool's {WRITE}. Do not edit: change what it is made from.\n"
    "\n"
    "Labels of runners that serve this repository, for actionlint, which knows those of GitHub's."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """texts: by path. made: of each specification, and of None this repository's own.

    problems: what kept the files of a specification from being made, by the specification's file. actions: those of the
    texts that are this project's actions, all of them where there are no problems.
    demands: None where some could not be made, so that what all of them ask is not known.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    made: tuple[tuple[Spec | None, tuple[Generated, ...]], ...] = ()
    actions: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    demands: Demands | None = None

    def hides(self, path: str) -> bool:
        """Whether a problem keeps the file from being made, so that its absence says nothing."""
        return path.startswith(self.hidden)


def outputs(root: Path, world: World) -> Outputs:
    """All of them, with the specifications of a checkout."""
    texts = {stack_schema.FILE: stack_schema.schema_text()}
    made: list[tuple[Spec | None, tuple[Generated, ...]]] = []
    problems: dict[str, tuple[Problem, ...]] = {}
    hidden: list[str] = []
    for name in spec_names(root):
        folder = f"{COPIES}/{name}"
        try:
            spec = load_spec(root, name, world)
            files = generate(spec, world)
        except ConfigError as error:
            problems[f"workflows/spec/{name}.yaml"] = error.problems
            hidden.append(f"{folder}/")
            continue
        made.append((spec, files))
        texts |= {f"{folder}/{each.path}": each.text for each in files}
        texts |= {f"{folder}/{path}": text for path, text in label_file(spec.declared.repository, world).items()}
    own = world.images.recipes
    try:
        files = generate_own(world)
        made.append((None, files))
        texts |= {each.path: each.text for each in files}
    except ConfigError as error:
        problems[OWN] = error.problems
        hidden.append(f"{FOLDER}/")
    texts |= label_file(own, world)
    actions = composite.texts(each.workflow for _, files in made for each in files)
    texts |= actions
    found = None
    if problems:
        hidden += (f"{ACTIONS}/", demand.FILE)
    else:
        asking = [*_asking(made, own), *_written_by_hand(root, own, texts)]
        start_up = (root / START_UP).read_text(encoding="utf-8")
        found = demands(asking, [spec for spec, _ in made if spec], world, start_up)
        texts[demand.FILE] = written(found)
    return Outputs(
        texts=texts, made=tuple(made), actions=actions, problems=problems, hidden=tuple(hidden), demands=found
    )


def _written_by_hand(root: Path, repository: str, generated: Mapping[str, str]) -> Iterator[Asking]:
    """The workflows of this repository that nothing generates."""
    for path in sorted((root / FOLDER).glob("*.y*ml")):
        file = read_file(path, root)
        if file.source not in generated:
            yield Asking(repository=repository, file=file.source, data=file.data)


def _asking(made: Iterable[tuple[Spec | None, tuple[Generated, ...]]], own: str) -> Iterator[Asking]:
    for spec, files in made:
        repository, source = (spec.declared.repository, spec.file) if spec else (own, "")
        for each in files:
            yield Asking(repository=repository, file=each.path, data=each.workflow.plain(), source=source)


def runner_labels(repository: str, world: World) -> tuple[str, ...]:
    """Every label of the pools that serve a repository, as the stacks write them, sorted."""
    wanted = repository.lower()
    serving = [each.pool for each in world.pools() if wanted in {name.lower() for name in each.pool.serves}]
    found = {label for pool in serving for label in pool.runner_labels}
    return tuple(sorted(label for label in found if not is_github_own_label(label)))


def label_file(repository: str, world: World) -> dict[str, str]:
    """The repository's LABELS; none where no pool serves it."""
    found = runner_labels(repository, world)
    return (
        {LABELS: dump(CommentedData(data={"self-hosted-runner": {"labels": list(found)}}, header=_HEADER))}
        if found
        else {}
    )
