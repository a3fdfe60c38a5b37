"""What a person asks for: a job by name, what it runs, on what, for how long, and how often it may be tried again.

Owns the rules of one request, told all at once. Leaves what a backend makes of it to `jobset` and `ray`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

from pydantic import PlainValidator, TypeAdapter, ValidationError

from infra.jobs.choices import FAILURES, PREEMPTIONS, SIGNALS
from infra.jobs.quantities import quantity
from infra.model.catalogue import AcceleratorType, UnknownNameError
from infra.model.errors import ConfigError, Problem
from infra.model.json_shape import JsonShape
from infra.model.secret_values import SECRET, secrets_in

NAME_LENGTH: Final = 40
"""A pod is called NAME-slice-S-P-xxxxx, and its host name is a DNS label of at most 63 characters."""

_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DIGEST: Final = re.compile(r"\S+@sha256:[0-9a-f]{64}")
_SECRET_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,255}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMPORT: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_RESERVED: Final = ("MEGASCALE_", "TPU_WORKER_")
"""Variables that belong to a slice: a value of a request would make hosts disagree on who they are."""

_CALL: Final = (
    "import functools, importlib, json, sys; "
    "module, _, path = sys.argv[1].partition(':'); "
    "functools.reduce(getattr, path.split('.'), importlib.import_module(module))(**json.loads(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments, as they stand in the image."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportedCall:
    """A call of a function by its import path, `package.module:function`; arguments are JSON values by name."""

    path: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def argv(self) -> tuple[str, ...]:
        """The same as a command of the image's own Python, which needs nothing of this project."""
        return ("python", "-c", _CALL, self.path, json.dumps(dict(self.arguments), sort_keys=True))


EntryPoint: TypeAlias = Command | ImportedCall


def _type_told(told: object) -> AcceleratorType | None:
    return None if told is None else AcceleratorType.parse(str(told))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources(JsonShape):
    """What one job runs on. cpu, memory and disk are of one pod, as Kubernetes quantities; empty where any will do.

    slice_counts: how many slices are allowed, ascending; one number unless the job is flexible.
    """

    JSON = ("accelerator=type_name", "slice_counts", "cpu", "memory", "disk")

    accelerator: Annotated[AcceleratorType | None, PlainValidator(_type_told)] = None
    slice_counts: tuple[int, ...] = (1,)
    cpu: str = ""
    memory: str = ""
    disk: str = ""

    @property
    def type_name(self) -> str | None:
        return self.accelerator.name if self.accelerator else None

    @classmethod
    def with_tpu(
        cls, accelerator: str, slice_count: int | Sequence[int] = 1, *, cpu: str = "", memory: str = "", disk: str = ""
    ) -> Resources:
        """Slices of one accelerator type (`v4-32`): a number of them, or the numbers that are allowed."""
        counts = (slice_count,) if isinstance(slice_count, int) else tuple(sorted(set(slice_count)))
        try:
            known = AcceleratorType.parse(accelerator)
        except UnknownNameError as error:
            fix = error.near or "a type such as v4-8 or v5litepod-16"
            raise ConfigError(
                [Problem("TPU type", accelerator, "not an accelerator type of the catalogue", fix)]
            ) from None
        if not counts or counts[0] < 1:
            rule, fix = (
                "no slice counts, or one below 1",
                "1, or a choice such as 1, 2, 4",
            )
            raise ConfigError([Problem(f"slices of {accelerator}", ", ".join(map(str, counts)), rule, fix)])
        return cls(accelerator=known, slice_counts=counts, cpu=cpu, memory=memory, disk=disk)

    @classmethod
    def with_cpu(cls, cpu: str = "1", *, memory: str = "4Gi", disk: str = "") -> Resources:
        """One pod without TPU."""
        return cls(cpu=cpu, memory=memory, disk=disk)

    @property
    def replicas(self) -> int:
        """How many slices (or pods without TPU) the job has where nothing else is said: the most that is allowed."""
        return self.slice_counts[-1]

    @property
    def hosts(self) -> int:
        """Pods of one slice: one a VM."""
        return self.accelerator.hosts if self.accelerator else 1

    @property
    def flexible(self) -> bool:
        return len(self.slice_counts) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a job is restarted, by kind.

    preemptions: after a preemption, maintenance or a machine that failed. failures: after an error of the program.
    """

    preemptions: int = PREEMPTIONS
    failures: int = FAILURES


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest(JsonShape):
    """One job. ConfigError with every mistake where it is made.

    image: by digest, for a tag may be another program at the next restart. queue: the LocalQueue of its namespace,
    empty to start without one. time_limit: seconds of one attempt, and of all of them together where a queue counts.
    checkpoint_signal: what the program is sent when it has to end; grace: seconds that it then has. replicas: slices,
    as the resources say unless it is given. secrets: variables by the names of secrets of Secret Manager that the job's
    team may read.
    """

    JSON = (
        *("name", "image", "namespace", "service_account", "queue", "priority", "time_limit", "checkpoint_signal"),
        *("grace", "replicas", "entry_point", "environment", "secrets", "retries", "resources"),
    )

    name: str
    entry_point: EntryPoint
    resources: Resources = field(default_factory=Resources)
    image: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    secrets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    namespace: str = "default"
    service_account: str = ""
    queue: str = ""
    priority: str = ""
    retries: Retries = field(default_factory=Retries)
    time_limit: int | None = None
    checkpoint_signal: str = "TERM"
    grace: int = 300
    replicas: int = 0

    def __post_init__(self) -> None:
        if not self.replicas:
            object.__setattr__(self, "replicas", self.resources.replicas)
        if problems := list(self._problems()):
            raise ConfigError(problems)

    def with_replicas(self, count: int) -> JobRequest:
        """The same job on another allowed number of slices."""
        return replace(self, replicas=count)

    @property
    def runtime(self) -> tuple[str, ...]:
        """The command, with this Python where the job runs on this machine."""
        argv = self.entry_point.argv
        return (sys.executable, *argv[1:]) if isinstance(self.entry_point, ImportedCall) else argv

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> JobRequest:
        """What `to_json` gave. ConfigError names each part that another version of this project wrote otherwise."""
        try:
            return _TOLD.validate_python(data)
        except ValidationError as error:
            # Without what stands there, which may be a secret.
            found = error.errors(include_input=False, include_url=False)
            raise ConfigError(
                Problem(".".join(map(str, each["loc"])) or "request", "", each["msg"], "submit the job again")
                for each in found
            ) from None

    def _problems(self) -> Iterator[Problem]:
        def problem(where: str, value: object, rule: str, fix: str) -> Problem:
            return Problem(f"job {self.name or '(without a name)'}: {where}", str(value), rule, fix)

        if not _NAME.fullmatch(self.name) or len(self.name) > NAME_LENGTH:
            rule = f"not a name for pods: a letter, then letters, digits and hyphens, lower-case, at most {NAME_LENGTH}"
            yield problem("name", self.name, rule, "such as llama-8b-run3")
        if self.image and not _DIGEST.fullmatch(self.image):
            tagged = "not a digest, but a tag: it may name another program when the job restarts"
            rule = "not a whole digest, which is sha256: and 64 hexadecimal digits" if "@" in self.image else tagged
            yield problem("image", self.image, rule, "IMAGE@sha256:..., as `./tidepool images current IMAGE` prints it")
        yield from self._entry_problems(problem)
        for name in (*self.environment, *self.secrets):
            if not _VARIABLE.fullmatch(name):
                yield problem(f"environment {name}", name, "not a name of letters, digits and _", "such as RUN_ID")
            if name.startswith(_RESERVED):
                rule = "this variable is set for each host; one value for all hosts would be wrong"
                yield problem(f"environment {name}", name, rule, "leave it out")
        for name in self.secrets.keys() & self.environment.keys():
            yield problem(f"environment {name}", name, "the variable has both a value and a secret", "one of them")
        for name, value in (*self.environment.items(), *self.secrets.items()):
            if not isinstance(value, str):
                yield problem(f"environment {name}", "", f"{type(value).__name__} is not text", "text, such as '7'")
            elif found := secrets_in(value):
                rule = f"it holds {found[0]}, and whoever may look at the job sees it"
                yield problem(f"environment {name}", SECRET, rule, f"--secret {name}=NAME, of Secret Manager")
            elif name in self.secrets and not _SECRET_NAME.fullmatch(value):
                rule = "not the name of a secret in Secret Manager: letters, digits, hyphens and underscores"
                yield problem(f"secret {name}", value, rule, "such as hf-token")
        if self.priority and not self.queue:
            rule = "a priority is Kueue's, and without a queue it has no effect"
            yield problem("priority", self.priority, rule, "a queue, or no priority")
        for where in ("cpu", "memory", "disk"):
            if text := getattr(self.resources, where):
                try:
                    quantity(text)
                except ValueError:
                    yield problem(f"resources.{where}", text, "not a Kubernetes quantity", "4, 500m or 16Gi")
        if self.replicas not in self.resources.slice_counts and (self.resources.flexible or self.replicas < 1):
            allowed = ", ".join(map(str, self.resources.slice_counts))
            yield problem("replicas", self.replicas, "not one of the allowed slice counts", allowed)
        for kind in ("preemptions", "failures"):
            if getattr(self.retries, kind) < 0:
                yield problem(f"retries.{kind}", getattr(self.retries, kind), "below 0", "0 for a single attempt")
        if self.time_limit is not None and self.time_limit < 1:
            yield problem("time_limit", self.time_limit, "less than a second", "such as 86400 for a day")
        if self.grace < 0:
            yield problem("grace", self.grace, "less than 0 seconds", "such as 300")
        if self.checkpoint_signal not in SIGNALS:
            fix = f"one of {', '.join(SIGNALS)}"
            yield problem("checkpoint_signal", self.checkpoint_signal, "not a signal that a program can catch", fix)

    def _entry_problems(self, problem: Any) -> Iterator[Problem]:
        entry = self.entry_point
        if isinstance(entry, ImportedCall):
            if not _IMPORT.fullmatch(entry.path):
                yield problem("entry point", entry.path, "not the import path of a function", "package.module:function")
        elif not entry.argv or not entry.argv[0]:
            yield problem("entry point", "", "the command is empty", "such as python train.py")


_TOLD: Final = TypeAdapter(JobRequest)


def recorded(text: str) -> tuple[JobRequest | None, tuple[str, ...]]:
    """The request that a job has with it, as JSON text; else None, and why it cannot be read, for people."""
    try:
        return JobRequest.of_json(json.loads(text)), ()
    except ConfigError as error:
        why = "; ".join(f"{each.subject}: {each.rule}" for each in error.problems)
    except ValueError:
        why = "it is not JSON"
    return None, (f"another version of Tidepool wrote its request, which cannot be read ({why})",)
