"""The smoke ladder: four jobs, each of which proves one thing more than the one before, up to the first that fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra import jobs
from infra.jobs.choices import STEPS
from infra.jobs.client import Job, JobError, JobState, wait
from infra.jobs.local import LocalClient
from infra.jobs.request import Command, JobRequest, Resources, Retries
from infra.model.errors import OutsideError
from infra.model.json_shape import JsonShape
from infra.operations.errors import Interruption
from infra.operations.jobs import LOOK_EVERY, JobBackend
from infra.preview.toned import Shown, Tone, toned

TRAINING: Final = Path(jobs.__path__[0]) / "tiny_training.py"
SECONDS: Final = 1800.0
"""Time for one step, a node that has to be made first included."""
_ONCE: Final = Retries(preemptions=3, failures=0)


@dataclass(frozen=True, slots=True)
class SmokeStep(JsonShape):
    """What became of one step. said: why it failed and where to look, empty where it passed."""

    JSON = ("step=name", "passed", "seconds", "said")

    name: str
    passed: bool
    seconds: float
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeOrder:
    """image: by digest, with Python, and JAX from the third step on. queue, cpu_queue: LocalQueues of the namespace."""

    image: str = ""
    queue: str = ""
    cpu_queue: str = ""
    accelerator: str = "v4-8"
    last: str = STEPS[-1]


def step_shown(step: SmokeStep) -> Shown:
    """A step as one line."""
    mark = ("passed", Tone.GOOD) if step.passed else ("FAILED", Tone.PROBLEM)
    return toned(f"{step.name:8}", mark, f"  {step.seconds:.1f} s", f"  {step.said}" if step.said else "")


def smoke(order: SmokeOrder, folder: Path, cluster: Callable[[], JobBackend]) -> Iterator[SmokeStep]:
    """Step by step, each as soon as it is known; none after one that failed. cluster: asked from the second step on.

    A backend of this machine is no cluster: the second step fails on it.
    """
    for name in STEPS[: STEPS.index(order.last) + 1]:
        began = time.monotonic()
        try:
            backend = JobBackend(LocalClient(folder), place=("--backend", "local")) if name == "local" else cluster()
            if name != "local" and isinstance(backend.client, LocalClient):
                raise JobError(
                    f"step {name} needs a cluster, and neither a cluster nor Ray is known; "
                    "set KUBECONFIG or use --to local"
                )
            _finished(backend, backend.submit(step_request(name, order, backend.namespace)))
        except OutsideError as error:
            yield SmokeStep(name, False, time.monotonic() - began, str(error))
            return
        yield SmokeStep(name, True, time.monotonic() - began)


def _finished(backend: JobBackend, job: Job) -> None:
    """Wait for a job and tell each change of what it waits for; an interruption cancels it. JobError if it fails."""
    told = ""

    def tell(state: JobState) -> None:
        nonlocal told
        says = state.waiting.says if state.waiting else "; ".join(state.because)
        line = f"{job.name} is {state.phase}" + (f": {says}" if says else "")
        if line != told and state.backend != "local":
            backend.teller.say(f"{line} (at most {SECONDS / 60:.0f} min; Ctrl-C cancels it)", Tone.QUIET)
            told = line

    every = 0.1 if isinstance(backend.client, LocalClient) else LOOK_EVERY
    try:
        with backend.pointing_on(job.name):
            wait(job, timeout=SECONDS, every=every, clock=backend.clock, seen=tell)
    except KeyboardInterrupt:
        job.cancel()
        raise Interruption(f"Interrupted; job {job.name} was cancelled.") from None


def step_request(name: str, order: SmokeOrder, namespace: str) -> JobRequest:
    """The job of one step."""
    if name == "local":
        return JobRequest(name="smoke-local", entry_point=Command(("true",)), retries=_ONCE)
    if not order.image:
        raise JobError(
            f"step {name} runs in a cluster, and needs an image with Python and JAX: --image IMAGE@sha256:..."
        )
    if name == "cluster":
        small = Resources.with_cpu("100m", memory="128Mi")
        return JobRequest(
            name="smoke-cluster", entry_point=Command(("true",)), resources=small, image=order.image,
            namespace=namespace, queue=order.cpu_queue, retries=_ONCE,
        )  # fmt: skip
    training = Command(("python", "-c", TRAINING.read_text(encoding="utf-8")))
    on_tpu = name == "tpu"
    return JobRequest(
        name=f"smoke-{name}",
        entry_point=training,
        resources=Resources.with_tpu(order.accelerator) if on_tpu else Resources.with_cpu("2", memory="4Gi"),
        image=order.image,
        namespace=namespace,
        environment={"EXPECT_PLATFORM": name, "JAX_PLATFORMS": name},
        queue=order.queue if on_tpu else order.cpu_queue,
        retries=_ONCE,
        time_limit=int(SECONDS),
    )
