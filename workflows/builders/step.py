"""Steps: a script or an action, with everything that varies handed over as environment or input, never as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workflows.builders.expression import Expression, Value, plain, reads, secret, unescaped, untrusted

_TIMEOUT = re.compile(
    r"(?<![\w-])timeout\s+(?P<options>(?:-{1,2}[\w-]+(?:[= ]\w+)?\s+)*?)(?P<limit>[0-9.]+)(?P<unit>[smhd]?)\b"
)
_KILL_AFTER = re.compile(r"(?:--kill-after[= ]|-k ?)(?P<limit>[0-9.]+)(?P<unit>[smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
_SURVIVES = re.compile(r"\balways\(|(?<!!)\bcancelled\(")
"""In a condition that holds when the run is cancelled."""
_ACTION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
FOLDER_INPUT = "working-directory"

COMPOSED = "the expression is written as text, where nothing checks it"

Complaint = tuple[str, str, str]
"""(value, rule, fix) of something that does not stand; the job that has it adds the subject."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """An action at one commit, with the version that the commit is the tag of."""

    action: str
    commit: str
    version: str

    def __str__(self) -> str:
        return f"{self.action}@{self.commit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """That a step's script stands in an action of this project, once for all steps that run it.

    name: of the action. source: the file that the script is made of. pinned: where the action is, None as long as no
    commit is pinned: then the script stands in the workflow. outputs: what the script puts out. carried: variables
    that are the action's own, because they are the same wherever it runs. finishes: what has begun goes on when the
    run is cancelled. The runner asks the condition of the step within the action again then, and not its caller's:
    https://github.com/actions/runner/blob/main/src/Runner.Worker/Handlers/CompositeActionHandler.cs (read 2026-11-23).
    """

    name: str
    source: str
    pinned: Pinned | None
    outputs: tuple[str, ...] = ()
    carried: frozenset[str] = frozenset()
    finishes: bool = False


def input_of(variable: str) -> str:
    """The input by which an action is told a variable of its script."""
    return variable.lower().replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Either `run`, a script, or `uses`, an action with its `inputs`."""

    name: str = ""
    id: str = ""
    run: str = ""
    uses: Pinned | None = None
    inputs: Mapping[str, Value] = field(default_factory=dict)
    env: Mapping[str, Value] = field(default_factory=dict)
    condition: Expression | None = None
    shell: str = ""
    working_directory: str = ""
    timeout_minutes: int | None = None
    continue_on_error: bool = False
    shared: Shared | None = None
    why: str = ""
    """Lines written above the step."""

    @property
    def calls(self) -> Pinned | None:
        """The action that the file names: another's, or the one that has the step's script."""
        return self.uses or (self.shared.pinned if self.shared else None)

    def written(self) -> dict[str, Any]:
        """As it stands in the file: a script that is shared is called there, with its variables as inputs."""
        if not self.shared or not self.shared.pinned:
            return self.plain()
        told = {input_of(key): value for key, value in self.env.items() if key not in self.shared.carried}
        if self.working_directory:
            told[FOLDER_INPUT] = self.working_directory
        return replace(
            self, uses=self.shared.pinned, shared=None, inputs=told, env={}, run="", shell="", working_directory=""
        ).plain()

    def plain(self) -> dict[str, Any]:
        """What it does, in full."""
        written: dict[str, Any] = {
            "name": self.name,
            "id": self.id,
            "uses": str(self.uses) if self.uses else "",
            "if": self.condition.condition if self.condition else "",
            "continue-on-error": self.continue_on_error,
            "timeout-minutes": self.timeout_minutes,
            "shell": self.shell,
            "working-directory": self.working_directory,
            "with": {key: plain(value) for key, value in self.inputs.items()},
            "env": {key: plain(value) for key, value in self.env.items()},
            "run": self.run,
        }
        return {key: value for key, value in written.items() if value}

    def reads(self) -> frozenset[str]:
        """The contexts that it takes values from."""
        own = self.condition.reads if self.condition else frozenset()
        return own.union(*(reads(value) for value in (*self.env.values(), *self.inputs.values())))

    def complaints(self, limit_minutes: int) -> Iterator[Complaint]:
        """What does not stand in a job that ends after `limit_minutes`."""
        said = self.name or self.id or (str(self.uses) if self.uses else self.run.partition("\n")[0])
        if bool(self.run) == bool(self.uses):
            yield (
                said or "a step without run or uses",
                "the step has neither a script nor an action, or both",
                "run=... or uses=...",
            )
        if self.run and self.inputs:
            yield said, "the step has inputs and a script; a script has no inputs", "env, which a script reads"
        if self.id and not _ID.fullmatch(self.id):
            yield self.id, "not an id: letters, digits, _ and -, a letter or _ first", "read_plan"
        yield from self._text(said)
        yield from self._limits(said, limit_minutes)
        yield from self._shared(said, self.shared) if self.shared else ()

    def _text(self, said: str) -> Iterator[Complaint]:
        scripts = [self.run, self.inputs.get("script", "")]
        if any("${{" in str(script) for script in scripts):
            rule = "the expression would become code of the script, and a secret part of a command line"
            yield said, rule, 'the expression in env, and "$NAME" in the script'
        places = {"name": self.name, "shell": self.shell, "working-directory": self.working_directory}
        for key, value in {**self.env, **self.inputs, **places}.items():
            if unescaped(value):
                yield f"{said}: {key}: {value}", COMPOSED, "context(...), template(...)"
        if self.condition and (held := secret(self.condition.reads)):
            yield f"{said}: {held[0]}", "a condition cannot read secrets, and the log shows it", "a variable (vars)"
        if self.uses and (chosen := untrusted(reads(self.inputs.get("ref", "")))):
            yield (
                f"{said}: {chosen[0]}",
                "whoever opens a pull request chooses this text",
                "github.event.pull_request.head.sha",
            )

    def _limits(self, said: str, limit_minutes: int) -> Iterator[Complaint]:
        if self.timeout_minutes is not None and not 0 < self.timeout_minutes < limit_minutes:
            rule = f"not shorter than its job, which has {limit_minutes} minutes"
            yield f"{said}: timeout-minutes {self.timeout_minutes}", rule, f"timeout_minutes={limit_minutes - 1}"
        limit = 60 * min(limit_minutes, self.timeout_minutes or limit_minutes)
        for seconds in inner_limits(self.run):
            if seconds >= limit:
                rule = f"GitHub stops the job after {limit} s, before this command is told to end"
                yield f"{said}: timeout of {seconds:g} s", rule, f"{limit - 10} s"

    def _shared(self, said: str, shared: Shared) -> Iterator[Complaint]:
        if not _ACTION.fullmatch(shared.name):
            yield f"{said}: {shared.name}", "not a name of an action: lower-case letters, digits and -", "vm-create"
        if not self.run or not self.shell:
            yield said, "the action has no script, or does not say which shell runs it", 'run=..., shell="bash"'
        for key in sorted(key for key in self.env if not _VARIABLE.fullmatch(key)):
            yield f"{said}: {key}", "not a name for an input of the action: capitals, digits and _", "LIKE_THIS"
        for key in sorted(shared.carried):
            if not isinstance(value := self.env.get(key), str) or "${{" in value:
                yield (
                    f"{said}: {key}",
                    "the action carries this value, which differs from job to job",
                    "an input of the action",
                )
        if self.condition and _SURVIVES.search(self.condition.source) and not shared.finishes:
            rule = "the step goes on when the run is cancelled, and its action would be stopped"
            yield f"{said}: if {self.condition}", rule, "finishes=True"


def timed(seconds: int, command: str) -> str:
    """A command that is asked to end after `seconds`, and killed 5 s later."""
    return f"timeout --kill-after=5 --signal=TERM {seconds} {command}"


def inner_limits(script: str) -> Iterator[float]:
    """Seconds after which each `timeout` of a script has ended its command for certain."""
    for found in _TIMEOUT.finditer(script.replace("\\\n", " ")):
        after = _KILL_AFTER.search(found["options"])
        extra = float(after["limit"]) * _SECONDS[after["unit"]] if after else 0.0
        yield float(found["limit"]) * _SECONDS[found["unit"]] + extra
