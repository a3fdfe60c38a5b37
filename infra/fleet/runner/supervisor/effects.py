"""What a decision asks for, as values, and how it is answered.

An effect that can fail is answered by None where it was done and by `Failed` where not. Nothing here holds a secret
but the registration in `RunContainer`, which no text of the value shows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar


class Effect:
    """What a decision asks for."""


@dataclass(frozen=True)
class Failed:
    """reason: why, empty where it is in the log alone."""

    reason: str = ""


@dataclass(frozen=True)
class Host:
    """Whom the decisions are for. vm: the TPU node's name. machine: Compute Engine's number of this host.

    worker: its number in the slice. addresses: of the slice's hosts, in order.
    """

    stack: str
    pool: str
    region: str
    vm: str
    machine: str
    worker: int
    addresses: tuple[str, ...]

    @property
    def several(self) -> bool:
        return len(self.addresses) > 1


# What is told


@dataclass(frozen=True)
class Log(Effect):
    """Not answered."""

    text: str


@dataclass(frozen=True)
class Tell(Effect):
    """An event, which the state has already. Not answered."""

    event: Mapping[str, str]


@dataclass(frozen=True)
class WriteReport(Effect):
    """Of the state as it is now."""


# What is asked for


@dataclass(frozen=True)
class WhoAmI(Effect):
    """Answered by a `Host`."""


@dataclass(frozen=True)
class Read(Effect):
    """An object of the fleet bucket, answered by its JSON document, None where there is none."""

    name: str


@dataclass(frozen=True)
class Write(Effect):
    name: str
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Register(Effect):
    """Ask the broker, answered by an `Answer`."""

    broker: str
    body: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """status: 0 where nobody answered. again: seconds after which to ask, None where nobody said.

    jit: the registration, empty where there is none.
    """

    status: int
    again: int | None = None
    jit: str = field(default="", repr=False)
    runner: str = ""
    reason: str = ""


# The machine


@dataclass(frozen=True)
class RunStep(Effect):
    """A machine step: the shell file of that path, without its ending."""

    name: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunSteps(Effect):
    """Machine steps side by side, answered by an `Ended` for each, in their order."""

    steps: tuple[RunStep, ...]


@dataclass(frozen=True)
class Ended:
    """seconds: that a machine step took. failed: why it failed, None where it was done."""

    seconds: float
    failed: Failed | None = None


@dataclass(frozen=True)
class FreeDisk(Effect):
    """Answered by the megabytes that are free."""


@dataclass(frozen=True)
class KeepSpare(Effect):
    """Keep a megabyte, so that with nothing left on the disk the reason can still be told."""


@dataclass(frozen=True)
class DropSpare(Effect):
    pass


@dataclass(frozen=True)
class ReadSkew(Effect):
    """Answered by the seconds that this clock is ahead of others', None where nobody says what time it is."""


@dataclass(frozen=True)
class PrepareJob(Effect):
    """Make room for a job, answered by a `Prepared`. image: whose runner it is to have, empty for no runner."""

    image: str = ""


@dataclass(frozen=True)
class Prepared:
    """memory_mb: the machine's. devices: of the TPU. tpu_env: what Google says of the slice.

    cache, runner: whether the job's own uv cache, and a runner of the VM's, are there to be mounted. job, slice_folder,
        hosts_command: where things are on the VM.
    """

    memory_mb: int
    devices: tuple[tuple[str, str], ...]
    tpu_env: str
    cache: bool
    runner: bool
    uv_cache: str
    job: str
    slice_folder: str
    hosts_command: str


@dataclass(frozen=True)
class RunContainer(Effect):
    """Begin it; its lines and its end come later. jit: what it reads from its standard input."""

    arguments: tuple[str, ...]
    jit: str = field(default="", repr=False)


@dataclass(frozen=True)
class StopContainer(Effect):
    """Ask it to end; its end comes later."""


@dataclass(frozen=True)
class FetchBundle(Effect):
    """Have the bundle of that SHA-256, verified and unpacked."""

    sha256: str


@dataclass(frozen=True)
class StartOver(Effect):
    """Boot again with that bundle. Nothing of this supervisor goes on."""

    bundle: str


@dataclass(frozen=True)
class Sleep(Effect):
    """Not answered."""

    seconds: int


# Slices of several hosts


@dataclass(frozen=True)
class MakeKey(Effect):
    """A key pair of that name in the slice's folder, answered by its public half."""

    name: str


@dataclass(frozen=True)
class WriteSlice(Effect):
    """Files of the slice's folder, by name."""

    files: Mapping[str, str]


@dataclass(frozen=True)
class NewSlice(Effect):
    """An empty folder for a round."""


@dataclass(frozen=True)
class DropSlice(Effect):
    pass


@dataclass(frozen=True)
class Answers(Effect):
    """Whether a host of the slice answers on the port of ssh, answered by True or False."""

    address: str


_Result = TypeVar("_Result")
Steps = Generator[Effect, Any, _Result]
"""A decision on its way: effects out, their answers in, and what it came to."""


def carried_out(steps: Steps[_Result], perform: Callable[[Effect], Any]) -> _Result:
    """Until a decision is through. perform: does what is asked for and gives its answer."""
    answer = None
    while True:
        try:
            effect = steps.send(answer)
        except StopIteration as ended:
            return ended.value
        answer = perform(effect)
