"""The files of another lab, from a few answers: its stack, its images and its workflows, in place of the present ones.

Owns which files a lab replaces and what it is asked. Their texts are templates beside this module (`lab/`), the same
that docs/next-lab.md shows. The whole lab is made in a temporary copy first: nothing is written here unless all of it
could be made, and git has what goes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError

from infra.model import catalogue, refusals, stack_schema, yamlfile
from infra.model.errors import ConfigError, Problem
from infra.model.fields.common import ProjectId, ResourceName
from infra.model.fields.fleet import Accelerator, GitHubRepository, Zone
from infra.model.images.spec import SPEC_FILE
from infra.model.json_shape import JsonShape
from infra.model.stack import parse_stack
from infra.operations.errors import Refusal
from infra.operations.images.changes import listing
from infra.operations.workflows.explained import write_list
from infra.operations.workflows.scene import read_files
from infra.operations.workflows.write import refuse_unsaved, write_here

_TEMPLATES: Final = Path(__file__).parent / "lab"
_STACK: Final = "stacks/Pulumi.ci.yaml"
_DOCKERFILE: Final = "images/tpu-ci/Dockerfile"
_IGNORE: Final = f"{_DOCKERFILE}.dockerignore"
_SPEC: Final = "workflows/spec/{name}.yaml"
_LOOP: Final = re.compile(r"for package in [^;]+;")
_CONTEXT: Final = ("pyproject.toml", "uv.lock")
"""What the runners' image is built from, of the repository whose jobs run: the paths of its context in `lab/`."""
_OURS: Final = ("tpu-ci", "controller", "steps")
"""What of `images/` every lab has."""
_KINDS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "project": TypeAdapter(ProjectId),
    "owner": TypeAdapter(ResourceName),
    "models": TypeAdapter(GitHubRepository),
    "tidepool": TypeAdapter(GitHubRepository),
    "accelerator": TypeAdapter(Accelerator),
    "zone": TypeAdapter(Zone),
    "fork_accelerator": TypeAdapter(Accelerator),
    "fork_zone": TypeAdapter(Zone),
}
"""What the answers must be that can be judged by themselves. The owner's name begins those of the pools."""
_TEXT: Final = TypeAdapter(str)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabAnswers:
    """What a lab says of itself.

    region: of the fleet bucket and of builds. owner: the label on all that it makes. models, tidepool: OWNER/NAME of
    the repository whose jobs run on TPUs, and of the lab's copy of this project. accelerator, zone, count, capacity: of
    the VMs for jobs of its members. fork_accelerator, fork_zone: of one spot VM for pull requests from forks; None for
    none. package, tests: of the repository, what is tested, and the folder with the tests. checkout: a working copy of
    that repository, by whose files path filters and tests are checked.
    """

    project: str
    region: str = "us-central1"
    owner: str
    models: str
    tidepool: str
    accelerator: str
    zone: str
    count: int
    capacity: str
    fork_accelerator: str | None = None
    fork_zone: str | None = None
    package: str
    tests: str = "tests"
    checkout: Path

    @property
    def pool(self) -> str:
        return f"{self.owner}-{_generation(self.accelerator)}"

    @property
    def fork_pool(self) -> str | None:
        return f"{self.owner}-fork" if self.fork_accelerator else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLab(JsonShape):
    """What a lab's answers come to. writes: texts by path, of what differs from what stands. removes: what goes."""

    JSON = ("written", "removes", "left")

    answers: LabAnswers
    root: Path
    writes: Mapping[str, str]
    removes: tuple[str, ...]

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(sorted(self.writes))

    @property
    def left(self) -> tuple[str, ...]:
        """What a person must still do at Google and GitHub, in this order."""
        return tuple(_left(self.answers))


def plan_lab(root: Path, answers: LabAnswers) -> NewLab:
    """All that would be written and removed, generated files and plans among it; made in a temporary copy.

    Raises ConfigError for an answer that no stack or the checkout can have, Refusal for what git lacks.
    """
    _insist_on_names(answers)
    standing = _files(root)
    if problems := [*package_problems(answers.checkout, answers.package), *_context_problems(answers.checkout)]:
        raise ConfigError(problems)
    with TemporaryDirectory() as folder:
        draft = Path(folder)
        for path in standing:
            (draft / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / path, draft / path)
        _make(draft, standing, answers)
        files = {path.relative_to(draft).as_posix(): path for path in draft.rglob("*") if path.is_file()}
        writes = {
            name: yamlfile.decoded(path.read_bytes(), name) for name, path in files.items() if _new(root, name, path)
        }
    removes = tuple(path for path in standing if path not in files)
    refuse_unsaved(root, [*(path for path in writes if (root / path).exists()), *removes])
    return NewLab(answers=answers, root=root, writes=writes, removes=removes)


def make_lab(planned: NewLab) -> None:
    """Put it in place."""
    _remove(planned.root, planned.removes)
    _write(planned.root, planned.writes)


def _make(draft: Path, standing: list[str], answers: LabAnswers) -> None:
    """Make a copy of this project the lab's: its files, lists of the checkout's files and tests, all that follows."""
    writes = dict(_texts(draft, answers))
    parse_stack(writes[_STACK], stack="ci", source=_STACK.removeprefix("stacks/"))
    _remove(draft, tuple(_of_present_lab(standing)))
    _write(draft, writes)
    listing(answers.models, answers.checkout, draft).write()
    write_list(answers.checkout, None, draft)
    write_here(None, draft)


def _remove(root: Path, paths: tuple[str, ...]) -> None:
    for path in paths:
        (root / path).unlink()
    for folder in {(root / path).parent for path in paths}:
        _remove_empty(folder, root)


def _write(root: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def _new(root: Path, name: str, made: Path) -> bool:
    return not (root / name).is_file() or (root / name).read_bytes() != made.read_bytes()


def _texts(root: Path, answers: LabAnswers) -> Iterator[tuple[str, str]]:
    values = _values(answers)
    yield _STACK, _header(root, _STACK) + _filled("stack", values)
    yield SPEC_FILE, _header(root, SPEC_FILE) + _filled("images", values)
    recipe = yamlfile.decoded((root / _DOCKERFILE).read_bytes(), _DOCKERFILE)
    yield _DOCKERFILE, _LOOP.sub("for package in .;", recipe, count=1)
    yield _IGNORE, "".join(f"{line}\n" for line in ("*", *(f"!{path}" for path in _CONTEXT)))
    yield _SPEC.format(name=answers.models.partition("/")[2]), _filled("workflows", values)


def _values(answers: LabAnswers) -> dict[str, str]:
    zones = [answers.zone, *([answers.fork_zone] if answers.fork_zone else [])]
    regions = sorted({answers.region, *map(catalogue.region_of, zones)})
    given = {key: str(getattr(answers, key)) for key in ("project", "owner", "models", "tidepool", "accelerator")}
    given |= {key: str(getattr(answers, key)) for key in ("zone", "count", "capacity", "package", "tests", "pool")}
    pools = [answers.pool, *([answers.fork_pool] if answers.fork_pool else [])]
    values = given | {"region": answers.region, "regions": ", ".join(regions), "pools": ", ".join(pools)}
    fork = {"fork_accelerator": str(answers.fork_accelerator), "fork_zone": str(answers.fork_zone)}
    values["fork"] = _filled("fork", values | fork) if answers.fork_pool else ""
    values["pull_request"] = f"          pull_request: [{answers.fork_pool}]\n" if answers.fork_pool else ""
    return values | {"builds": _filled("builds", values)}


def _filled(template: str, values: Mapping[str, str]) -> str:
    return Template((_TEMPLATES / f"{template}.yaml").read_text(encoding="utf-8")).substitute(values)


def _header(root: Path, path: str) -> str:
    """The comment at the top of a file, which says what may stand in it."""
    lines = yamlfile.decoded((root / path).read_bytes(), path).splitlines(keepends=True)
    ends = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[:ends]) + "\n" * bool(ends)


def _of_present_lab(standing: list[str]) -> Iterator[str]:
    """Those of the files that only the lab has whose files stand here."""
    for path in standing:
        head, *rest = path.split("/")
        match head:
            case "stacks":
                gone = path not in (_STACK, stack_schema.FILE)
            case "images":
                gone = len(rest) > 1 and rest[0] not in _OURS
            case "workflows":
                gone = rest[0] in {"spec", "generated"} and not path.endswith(".py")
            case "tests":
                gone = rest[0] == "lab"
            case _:
                gone = False
        if gone:
            yield path


def _files(root: Path) -> list[str]:
    """What git has or would have of the checkout, so that nothing that counts in it is left out of the copy."""
    asked = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise Refusal(f"{root} is no git checkout, and init replaces files: clone your copy of this project") from None
    return sorted({path for path in listed.split("\0") if (root / path).is_file()})


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and folder.is_dir() and all(each.name == "__pycache__" for each in folder.iterdir()):
        shutil.rmtree(folder)
        folder = folder.parent


def answer_problems(name: str, value: object) -> Iterator[Problem]:
    """What is wrong with one answer by itself, as the stack file would say it of its key."""
    try:
        _KINDS.get(name, _TEXT).validate_python(value)
    except ValidationError as error:
        yield from refusals.problems(error, BaseModel, lambda _: f"--{name.replace('_', '-')}")


def _insist_on_names(answers: LabAnswers) -> None:
    """ConfigError with every answer that is wrong by itself."""
    given = {name: value for name in _KINDS if (value := getattr(answers, name)) is not None}
    problems = [problem for name, value in given.items() for problem in answer_problems(name, value)]
    if (answers.fork_accelerator is None) != (answers.fork_zone is None):
        fix = "both, or neither where pull requests from forks run on no TPU"
        problems.append(Problem("--fork-accelerator, --fork-zone", "", "one stands without the other", fix))
    if problems:
        raise ConfigError(problems)


def package_problems(checkout: Path, package: str) -> Iterator[Problem]:
    """What is wrong with a package that a checkout does not have."""
    known = packages(checkout)
    if package not in known:
        rule = f"no pyproject.toml of {checkout} has this name"
        fix = f"--package {', '.join(known)}" if known else "--checkout of a repository with a package"
        yield Problem("--package", package, rule, fix)


def _context_problems(checkout: Path) -> Iterator[Problem]:
    for path in _CONTEXT:
        if not (checkout / path).is_file():
            rule = f"{path} is not at its top, and the runners' image installs from it"
            fix = "a clone that has it" + ("; `uv lock` writes it, git must have it" if path == "uv.lock" else "")
            yield Problem("--checkout", str(checkout), rule, fix)


def packages(checkout: Path) -> tuple[str, ...]:
    """The Python packages of a working copy, by name."""
    there = read_files(checkout)
    return tuple(sorted(there.projects)) if there else ()


def _generation(accelerator: str) -> str:
    return catalogue.AcceleratorType.parse(accelerator).generation.name


def _left(answers: LabAnswers) -> Iterator[str]:
    yield f"Google: a project {answers.project} with billing, and TPU quota in {answers.zone} (docs/first-deploy.md)"
    yield "./tidepool bootstrap ci --impersonator user:YOU, which prepares the project"
    yield f"GitHub: an app that registers runners of {answers.models}, its key in the secret (docs/serving.md)"
    yield "the sections tidepool:runners and tidepool:controller, once the controller's image is built"
    yield f"GitHub: the environments apply and apply-after-approval of {answers.tidepool} (docs/github.md)"
    yield "./tidepool up ci"
