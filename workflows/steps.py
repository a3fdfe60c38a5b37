"""Steps that more than one workflow has, each written once.

Owns their text and what they are told. Leaves which job has which to `workflows.generate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from infra.model.images.spec import ImageSpec
from infra.model.images.steps import MINUTE
from workflows.builders import Access, Expression, Grant, Scope, Shared, Step, Template, context
from workflows.builders.expression import Value, parsed
from workflows.expressions import parts
from workflows.scripts import shipped
from workflows.world import SHELL, World

PROVIDER: Final = "vars.TIDEPOOL_IDENTITY_PROVIDER"
"""The repository's variable with the full name of the workload identity provider."""

KILL_SECONDS: Final = 10
"""What is left of a step's time when its command is asked to end: five seconds to obey, five to tell."""

TPU_ENV: Final[Mapping[str, str]] = {
    "JAX_PLATFORMS": "tpu,cpu",
    "PJRT_DEVICE": "TPU",
    "TPU_CI": "true",
    "JAX_COORDINATOR_ADDRESS": "127.0.0.1",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_MIN_LOG_LEVEL": "3",
    "WANDB_MODE": "offline",
}
"""What tests on a TPU runner are told."""

TOKEN: Final[Mapping[str, Value]] = {"GITHUB_TOKEN": context("github.token")}
"""What scripts ask GitHub with."""

READ_CONTENTS: Final = Grant(Scope.CONTENTS, Access.READ)
IDENTITY: Final = Grant(Scope.ID_TOKEN, Access.WRITE, "exchanged for a Google token, so no key is stored")


def checkout(world: World, *, repository: str = "", path: str = "", ref: Value = "", history: bool = False) -> Step:
    """A working copy without credentials in it; of this repository at the commit of the event where nothing is said."""
    inputs: dict[str, Value] = {
        "repository": repository,
        "ref": ref,
        "path": path,
        "fetch-depth": 0 if history else "",
        "persist-credentials": False,
    }
    said = {key: value for key, value in inputs.items() if value != ""}
    return Step(uses=world.actions.uses("actions/checkout"), inputs=said)


def tree() -> Step:
    """The tree that is checked out, as the output `tree` of a step of that name.

    On a line of its own: the shell goes on after a command that fails in an argument or in front of a pipe.
    """
    return Step(
        name="Find the tree's name",
        id="tree",
        run='tree=$(git rev-parse \'HEAD^{tree}\')\necho "tree=$tree" >>"$GITHUB_OUTPUT"\n',
    )


def uv(world: World, python: Value, *, cached: bool = True) -> Step:
    """uv at the release that images have, with a Python."""
    return Step(
        uses=world.actions.uses("astral-sh/setup-uv"),
        inputs={
            "version": world.pins.download("uv").version,
            "python-version": python,
            "enable-cache": cached,
        },
    )


def node(world: World, version: str) -> Step:
    return Step(uses=world.actions.uses("actions/setup-node"), inputs={"node-version": version})


def google(world: World, account: Value) -> Step:
    """Signs in as an account of Google, by the run's own identity."""
    return Step(
        uses=world.actions.uses("google-github-actions/auth"),
        inputs={"workload_identity_provider": context(PROVIDER), "service_account": account},
    )


def gcloud(world: World, project: str) -> Step:
    """gcloud of the pinned release, acting as whoever signed in."""
    return Step(
        uses=world.actions.uses("google-github-actions/setup-gcloud"),
        inputs={"version": world.pins.download("gcloud").version, "project_id": project},
    )


def runner_env(images: ImageSpec) -> dict[str, str]:
    """What a job on a runner of ours is told: uv's folders as the image and the VM have them, and the TPU's part."""
    return {**dict(images.paths.build_args), **TPU_ENV}


def script(
    world: World,
    file: str,
    *,
    name: str,
    env: Mapping[str, Value],
    timeout_minutes: int | None = None,
    step_id: str = "",
    condition: Expression | None = None,
    folder: str = "",
    action: str = "",
    outputs: tuple[str, ...] = (),
    carried: Iterable[str] = (),
    finishes: bool = False,
) -> Step:
    """A file of workflows/shell as a step: the consumer repository has no checkout of this one to run it from.

    It runs as `bash -eo pipefail`, and reads whatever varies from `env`. action: its name, that of the file where
    nothing is said. outputs, carried, finishes: see Shared.
    """
    stem = file.removesuffix(".sh")
    return Step(  # noqa: S604 - the shell of a workflow's step; nothing is run here
        name=name,
        id=step_id,
        condition=condition,
        timeout_minutes=timeout_minutes,
        shell="bash",
        working_directory=folder,
        env=env,
        run=world.scripts[file],
        shared=shared(world, action or stem, f"{SHELL / file}", outputs=outputs, carried=carried, finishes=finishes),
    )


def python(
    world: World,
    file: str,
    *,
    name: str,
    env: Mapping[str, Value],
    step_id: str = "",
    condition: Expression | None = None,
    outputs: tuple[str, ...] = (),
    finishes: bool = False,
) -> Step:
    """A file of workflows/scripts as a step, by its name without `.py`."""
    return Step(  # noqa: S604 - the shell of a workflow's step; nothing is run here
        name=name,
        id=step_id,
        shell="python",
        env=env,
        condition=condition,
        run=shipped(file),
        shared=shared(world, file, f"workflows/scripts/{file}.py", outputs=outputs, finishes=finishes),
    )


def shared(
    world: World,
    name: str,
    source: str,
    *,
    outputs: tuple[str, ...] = (),
    carried: Iterable[str] = (),
    finishes: bool = False,
) -> Shared:
    """What says that a script is an action of ours, of this name but for its underscores."""
    action = name.replace("_", "-")
    return Shared(
        name=action,
        source=source,
        pinned=world.action(action),
        outputs=outputs,
        carried=frozenset(carried),
        finishes=finishes,
    )


def seconds(minutes: int) -> int:
    """After how many seconds a command is asked to end in a step of so many minutes."""
    return minutes * MINUTE - KILL_SECONDS


def valued(text: str) -> Value:
    """Plain data's text as a value: expressions in it parsed, so that they are checked as composed ones are."""
    found = tuple(parts(text))
    if not any(part.expression for part in found):
        return text
    pieces = tuple(parsed(part.text.strip()) if part.expression else part.text for part in found)
    first = pieces[0]
    return first if len(pieces) == 1 and isinstance(first, Expression) else Template(pieces)


def from_plain(data: Mapping[str, Any], among: Shared | None = None) -> Step:
    """A step that another module wrote as plain data. among: the action that has its script."""
    return Step(
        name=data.get("name", ""),
        id=data.get("id", ""),
        shell=data.get("shell", ""),
        run=data.get("run", ""),
        env={key: valued(str(value)) for key, value in data.get("env", {}).items()},
        timeout_minutes=data.get("timeout-minutes"),
        shared=among,
    )


def words(command: Iterable[str]) -> str:
    """A command of plain words, one option a line, each line but the last continued."""
    lines: list[list[str]] = [[]]
    for word in command:
        if word.startswith("-") and lines[-1]:
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(" ".join(line) for line in lines)
