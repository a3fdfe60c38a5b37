"""Jobs on a Ray cluster, by its job server's REST API. Each is one attempt: Ray's job server begins nothing again.

What ended a driver is told by its exit code and by Ray's error types, which are names for programs; whether its VM was
preempted is asked of whoever knows VMs (`machine`), never guessed from a text. Ray knows no slices: it is for jobs
without TPU and for slices of one VM, whose `TPU-TYPE-head` resource Ray's TPU nodes carry. Larger jobs are refused,
because gangs on Ray would need a scheduler of our own.

https://docs.ray.io/en/latest/cluster/running-applications/job-submission/rest.html (2026-10)
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import urllib3

from infra.jobs.client import JobError, JobPhase, JobState
from infra.jobs.evidence import Finding
from infra.jobs.jobset import REQUEST
from infra.jobs.outcomes import Outcome
from infra.jobs.quantities import quantity
from infra.jobs.request import JobRequest, recorded
from infra.model.errors import ConfigError, OutsideError, Problem

JOBS: Final = "/api/jobs/"
Machine = Callable[[str], tuple[Outcome, str] | None]
"""What is known of the machine of a Ray node, by the node's id; None where it is well, or nobody knows."""

_PHASES: Final = {"PENDING": JobPhase.STARTING, "RUNNING": JobPhase.RUNNING}
_LOST: Final = ("JOB_SUPERVISOR_ACTOR_DIED", "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE")
SECONDS: Final = 30.0


def ray_job(request: JobRequest, attempt: int = 0) -> dict[str, Any]:
    """A request as the body of one attempt (`POST /api/jobs/`), pure. ConfigError for what Ray cannot carry."""
    accelerator, resources = request.resources.accelerator, request.resources
    if problems := list(_problems(request)):
        raise ConfigError(problems)
    body: dict[str, Any] = {
        "submission_id": submission_id(request.name, attempt),
        "entrypoint": shlex.join(request.entry_point.argv),
        "runtime_env": {"env_vars": dict(request.environment)},
        "metadata": {REQUEST: json.dumps(request.to_json(), sort_keys=True)},
    }
    if resources.cpu:
        body["entrypoint_num_cpus"] = quantity(resources.cpu)
    if resources.memory:
        body["entrypoint_memory"] = int(quantity(resources.memory))
    if accelerator is not None:
        chips = float(accelerator.chips)
        body["entrypoint_resources"] = {"TPU": chips, f"TPU-{accelerator.name}-head": 1.0}
    return body


def submission_id(name: str, attempt: int) -> str:
    """Ray keeps a submission for ever under its id, so that each attempt has one of its own."""
    return f"{name}-{attempt}"


def _problems(request: JobRequest) -> list[Problem]:
    subject, gke = f"job {request.name} on Ray", "send it to a cluster with --backend gke"
    found = []
    if request.replicas > 1 or request.resources.hosts > 1:
        asked = f"{request.replicas} x {request.resources.hosts} hosts"
        found.append(Problem(subject, asked, "a job on Ray has at most one VM", gke))
    if request.queue:
        found.append(Problem(subject, f"queue {request.queue}", "Ray does not know queues of Kueue", gke))
    if request.secrets:
        found.append(Problem(subject, ", ".join(request.secrets), "Ray mounts no secrets", gke))
    return found


@dataclass(frozen=True, slots=True)
class RayClient:
    """address: the job server's root URL."""

    address: str
    machine: Machine = lambda _: None
    pool: urllib3.PoolManager = field(default_factory=urllib3.PoolManager)

    def submit(self, request: JobRequest) -> RayJob:
        earlier = [each for each in self.all() if _name(each) == request.name]
        if earlier and earlier[0]["status"] in _PHASES:
            raise JobError(f"{request.name} has not ended; cancel it first, or take another name")
        body = ray_job(request, attempt=len(earlier))
        self.call("POST", JOBS, body)
        return RayJob(self, request.name)

    def jobs(self) -> tuple[JobState, ...]:
        newest: dict[str, Mapping[str, Any]] = {}
        for each in self.all():
            newest.setdefault(_name(each), each)
        return tuple(ray_state(each, self.machine) for each in newest.values())

    def job(self, name: str) -> RayJob:
        return RayJob(self, name)

    def all(self) -> list[Mapping[str, Any]]:
        """Every submission of this project's, the newest first."""
        ours = [each for each in self.call("GET", JOBS) if REQUEST in (each.get("metadata") or {})]
        return sorted(ours, key=lambda each: each.get("start_time") or 0, reverse=True)

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One call; OutsideError where Ray refuses or does not answer."""
        sent, form = (None if body is None else json.dumps(body)), {"Content-Type": "application/json"}
        try:
            answer = self.pool.request(
                method, self.address.rstrip("/") + path, body=sent, headers=form, timeout=SECONDS
            )
        except urllib3.exceptions.HTTPError as error:
            raise OutsideError(f"{method} {path} at {self.address}: no answer ({type(error).__name__})") from None
        if answer.status >= 300:
            raise OutsideError(
                f"{method} {path} at {self.address}: {answer.status} {answer.data.decode(errors='replace')[:500]}"
            )
        return json.loads(answer.data)


@dataclass(frozen=True, slots=True)
class RayJob:
    """The newest submission of one name."""

    client: RayClient
    name: str

    def state(self) -> JobState:
        return ray_state(self._submission(), self.client.machine)

    def logs(self, tail: int) -> Iterator[str]:
        path = f"{JOBS}{self._submission()['submission_id']}/logs"
        yield from self.client.call("GET", path)["logs"].splitlines()[-tail:]

    def cancel(self) -> None:
        found = self._submission()
        if found["status"] in _PHASES:
            self.client.call("POST", f"{JOBS}{found['submission_id']}/stop")

    def _submission(self) -> Mapping[str, Any]:
        found = next((each for each in self.client.all() if _name(each) == self.name), None)
        if found is None:
            raise JobError(f"there is no job {self.name} on Ray at {self.client.address}")
        return found


def ray_state(body: Mapping[str, Any], machine: Machine) -> JobState:
    """How one submission stands."""
    status = body["status"]
    request, unread = recorded(body["metadata"][REQUEST])
    last = None if status in _PHASES else _ended(body, machine)
    accelerator = request.resources.accelerator if request else None
    began = body.get("start_time")
    return JobState(
        name=_name(body),
        backend="ray",
        phase=_PHASES.get(status, JobPhase.ENDED),
        outcome=last.outcome if last else None,
        accelerator=accelerator.name if accelerator else "",
        created=datetime.fromtimestamp(began / 1000, UTC).isoformat(timespec="seconds") if began else "",
        last=last,
        because=(*((last.because,) if last else ()), *unread),
    )


def _ended(body: Mapping[str, Any], machine: Machine) -> Finding:
    if body["status"] == "SUCCEEDED":
        return Finding("the driver", Outcome.SUCCESS, "its program ended with exit code 0")
    if body["status"] == "STOPPED":
        return Finding("the driver", Outcome.CANCELLED, "it was stopped")
    if found := machine(body.get("driver_node_id") or ""):
        return Finding("the driver", *found)
    code, kind = body.get("driver_exit_code"), body.get("error_type") or ""
    if code is not None:
        return Finding("the driver", Outcome.ERROR, f"its program ended with exit code {code}")
    if kind in _LOST:
        return Finding("the driver", Outcome.FAILED, f"Ray lost it: {kind}")
    return Finding("the driver", Outcome.ERROR, f"it could not be started: {kind or 'Ray says nothing more'}")


def _name(body: Mapping[str, Any]) -> str:
    name: str = json.loads(body["metadata"][REQUEST])["name"]
    return name
