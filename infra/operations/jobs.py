"""Training jobs: submit, follow, list, read, cancel and explain them, on whichever backend is chosen.

Owns the choice of a backend as people are told it, and how a flexible job is kept on the most slices that fit. What a
job is, and how it stands, is `infra.jobs`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from infra.jobs import flexible
from infra.jobs.client import STATES, Client, Clock, Job, JobError, JobPhase, JobState, RealClock, wait
from infra.jobs.current import current_client
from infra.jobs.gke import GkeClient, GkeJob
from infra.jobs.jobset import jobset
from infra.jobs.local import LocalClient
from infra.jobs.request import JobRequest
from infra.operations.errors import Refusal
from infra.operations.ports import SILENT, Teller, Tone
from infra.operations.workspace import workspace

LOOK_EVERY = 10.0
"""Seconds between looks at a job that is followed."""


@dataclass(frozen=True, slots=True)
class JobBackend:
    """The jobs of one backend. place: the options of a command that goes to the same place."""

    client: Client
    teller: Teller = SILENT
    clock: Clock = field(default_factory=RealClock)
    place: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        """Where jobs go unless they say otherwise; Ray and this machine have but one place."""
        return self.client.namespace if isinstance(self.client, GkeClient) else "default"

    @property
    def looked(self) -> str:
        """Where jobs were looked for, and how others are listed, as a sentence."""
        if not isinstance(self.client, GkeClient):
            return f"`{self.command('list')}` lists the training jobs"
        place = f"namespace {self.namespace} of {self.client.kube.place.said}"
        return f"training jobs were looked for in {place}: `./tidepool jobs list --namespace NAME` lists another's"

    def command(self, *words: str) -> str:
        """A command of `jobs` about the same place, as a person may type it."""
        return shlex.join(("./tidepool", "jobs", *words, *self.place))

    @contextmanager
    def pointing_on(self, name: str) -> Generator[None]:
        """Name the next command in an error: what a job that ended wrote, or why it has not ended."""
        try:
            yield
        except JobError as error:
            verb = "logs" if error.outcome else "why"
            raise JobError(f"{error}; next: `{self.command(verb, name)}`", error.outcome) from None

    def submit(self, request: JobRequest) -> Job:
        """Begin a job; of a flexible one, on the most slices that fit now. JobError where none fit.

        Refusal of one for a TPU or a queue that would run on this machine, which nobody has chosen.
        """
        asks = "a TPU" if request.resources.accelerator else "a queue" if request.queue else ""
        if asks and isinstance(self.client, LocalClient) and "--backend" not in self.place:
            raise Refusal(
                f"{request.name} asks for {asks}, and neither a cluster nor Ray is known; set KUBECONFIG, or run it on "
                "this machine without, by --backend local"
            )
        if request.resources.flexible and isinstance(self.client, GkeClient):
            kueue = self.client.kueue
            request = kueue.admissible(request)
            try:
                _, start = flexible.begin(request.resources, kueue.free_slices(request), self.clock.monotonic())
            except flexible.TooFewSlicesError as error:
                raise JobError(f"{request.name}: {error}") from None
            self.teller.say(f"{start.count} of {request.resources.slice_counts[-1]} slices fit now", Tone.QUIET)
            request = request.with_replicas(start.count)
        return self.client.submit(request)

    def follow(self, job: Job, timeout: float | None = None) -> JobState:
        """Wait until it has ended, and keep a flexible one on the most slices that fit meanwhile.

        JobError where it ended in anything but success, or has not within `timeout` seconds.
        """
        with self.pointing_on(job.name):
            request = job.request() if isinstance(job, GkeJob) else None
            if request is not None and request.resources.flexible and isinstance(self.client, GkeClient):
                return self._follow_flexible(self.client, job, request, timeout)
            every = 0.1 if job.state().backend == "local" else LOOK_EVERY
            return wait(job, timeout=timeout, every=every, clock=self.clock)

    def states(self) -> tuple[JobState, ...]:
        """Every job of the backend, the newest first."""
        return self.client.jobs()

    def state(self, name: str) -> JobState:
        """How one stands and why; Refusal where there is none of that name."""
        try:
            return self.client.job(name).state()
        except JobError as error:
            raise Refusal(f"{error}; `{self.command('list')}` lists the jobs") from None

    def logs(self, name: str, tail: int) -> Iterator[str]:
        """The last lines of each host; where none has written any, that is said. Refusal where there is no job."""
        state, wrote = self.state(name), False
        for line in self.client.job(name).logs(tail):
            wrote = True
            yield line
        if not wrote:
            stands = state.outcome or state.phase
            self.teller.say(f"{name} is {stands}, and no host has a log; next: `{self.command('why', name)}`")

    def cancel(self, name: str) -> JobState:
        """End a job, and how it stands then. Of one that has ended that is said. Refusal where there is no job."""
        if (before := self.state(name)).phase is JobPhase.ENDED:
            self.teller.say(f"{name} had ended already; nothing was cancelled")
            return before
        job = self.client.job(name)
        job.cancel()
        return job.state()

    def _follow_flexible(self, client: GkeClient, job: Job, request: JobRequest, timeout: float | None) -> JobState:
        now = began = self.clock.monotonic()
        kept = flexible.Flexible(count=job.state().replicas, changed=now, looked=now)
        while timeout is None or now - began < timeout:
            try:
                return wait(job, timeout=flexible.CONSIDER_EVERY / 36, every=LOOK_EVERY, clock=self.clock)
            except JobError as error:
                if error.outcome is not None:
                    raise
            now = self.clock.monotonic()
            # A gang that waits has lost its slices; one that starts may still get them back.
            standing = 0 if job.state().phase is JobPhase.WAITING else kept.count
            try:
                kept, action = flexible.step(
                    kept, request.resources, standing=standing, free=client.kueue.free_slices(request), now=now
                )
            except flexible.TooFewSlicesError:
                continue  # it waits in its queue, where it is
            if isinstance(action, flexible.Start) and action.count != job.state().replicas:
                self.teller.say(f"{request.name}: {job.state().replicas} -> {action.count} slices", Tone.WORKING)
                request = request.with_replicas(action.count)
                job = client.replace(request)
        raise JobError(f"{request.name} has not ended after {timeout:.0f} s")


def open_jobs(backend: str = "auto", *, namespace: str = "", context: str = "", teller: Teller = SILENT) -> JobBackend:
    """Choose a backend and say which and why. ConfigError for one that cannot be had here."""
    client, said = current_client(backend, folder=workspace().home / "jobs", namespace=namespace, context=context)
    teller.say(said, Tone.QUIET)
    chosen = "" if backend == "auto" else backend
    given = (("--backend", chosen), ("--namespace", namespace), ("--context", context))
    return JobBackend(client, teller, place=tuple(word for option in given if option[1] for word in option))


def call_arguments(text: str) -> Mapping[str, Any]:
    """The arguments of a function that a job calls, by name, of a JSON text; Refusal where it is none."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise Refusal(f"--arguments is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Refusal(
            "--arguments is not a JSON object; write the function's arguments by name, such as '{\"steps\": 10}'"
        )
    return found


def rendered(request: JobRequest) -> dict[str, Any]:
    """The JobSet that a cluster would be given; nothing is asked of one."""
    return jobset(request)


def state_json(state: JobState) -> dict[str, Any]:
    """A standing as --json has it."""
    return STATES.dump_python(state, mode="json")
