"""Driving the local cloud of this checkout: its control surface, the mess that fleets get into, guests and their jobs.

Owns too which project is meant where nobody says it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fnmatch import filter as matching
from typing import TYPE_CHECKING, Any, get_args

from bench.cloud import daemon
from bench.cloud.control import Control
from bench.cloud.faults import FaultKind
from bench.cloud.github.work import CONCLUSIONS
from bench.cloud.services.places import REGIONS, ZONES
from bench.guests.guests import Guests
from infra.model import runner_names
from infra.model.catalogue import AcceleratorType
from infra.model.errors import meant
from infra.model.stack_text import pulumi_values, stack_names
from infra.operations.errors import Failure, Refusal
from infra.operations.workspace import workspace

if TYPE_CHECKING:
    from bench.operations.broker import LocalGuests

__all__ = ("CONCLUSIONS", "FAULTS")

FAULTS: tuple[str, ...] = get_args(FaultKind)
"""The kinds of faults."""
_ACCELERATOR = "v5litepod-4"
_NOT_THERE = ("storage.objects.get", 404)


def running() -> Control:
    """The control surface of this checkout's cloud. Raises Failure where it does not run; it raises what it refuses."""
    home = workspace().home
    handle = daemon.running(home)
    if handle is None:
        raise Failure(f"the local cloud of {home} does not run; start it with `./tidepool cloud start`")
    return Control(handle.url)


@contextmanager
def running_guests() -> Generator[Guests]:
    """The guests of its VMs, for this operation alone, in the same way."""
    with _guests().turn() as found:
        yield found


def advance_clock(seconds: float) -> None:
    """Move its clock, and let the guests of its VMs live meanwhile."""
    _guests().advance(seconds)


def _guests() -> LocalGuests:
    # With a broker and Google's clients, which take longer to import than most of these operations.
    from bench.operations.broker import LocalGuests

    return LocalGuests(home=workspace().home, url=running().url)


def stack_project() -> str:
    """The one project that the stack files name."""
    root = workspace().root
    texts = ((root / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8") for stack in stack_names(root))
    projects = {pulumi_values(text).get("gcp:project", "") for text in texts} - {""}
    if len(projects) != 1:
        raise Refusal(f"the stack files name {len(projects)} projects; say which with --project")
    return projects.pop()


def fail(kind: str, *, lasting: float | None, **rule: Any) -> None:
    """Let requests go wrong; what is None is not said. lasting: seconds of the cloud's time, None for ever."""
    given = {key: value for key, value in rule.items() if value is not None}
    places = (*ZONES, *REGIONS, "global", "us", "europe", "asia")
    if (zone := given.get("zone")) and not matching(places, zone):
        raise Refusal(f"{zone} is not a zone or region.{meant(zone, ZONES)} A fault there would strike nothing")
    cloud = running()
    if lasting is not None:
        given["until"] = cloud.clock()["seconds"] + lasting
    cloud.fail(kind, **given)


def requests(limit: int, *, failed: bool) -> list[dict[str, Any]]:
    """The last requests, oldest first. failed: those alone that were refused; a look for a record that nobody has
    written, as every sweep does for operator requests, is none.
    """
    if not failed:
        return running().log(limit=limit)
    refused = [each for each in running().log(limit=100_000) if each["status"] >= 400]
    return [each for each in refused if (each["method"], each["status"]) != _NOT_THERE][-limit:]


def add_node(vm: str, zone: str, managed: str | None, project: str | None) -> dict[str, Any]:
    """A TPU VM that is READY at once and runs nothing. managed: STACK/POOL of one of ours, None for nobody's."""
    labels = {}
    if managed is not None:
        stack, _, pool = managed.partition("/")
        labels = {"tidepool-managed": "true", "tidepool-stack": stack, "tidepool-pool": pool}
        if not pool:
            raise Refusal(f"--managed is STACK/POOL, such as ci/tpu-ci, not {managed!r}")
    body = {
        "acceleratorType": _ACCELERATOR,
        "runtimeVersion": AcceleratorType.parse(_ACCELERATOR).runtime,
        "labels": labels,
        "schedulingConfig": {"preemptible": True},
    }
    return running().add_node(f"projects/{project or stack_project()}/locations/{zone}/nodes/{vm}", body)


def queue_job(repository: str, labels: Sequence[str], name: str, seconds: float | None) -> dict[str, Any]:
    """A workflow run with one job, and the VM that has taken it. seconds: None until it is ended."""
    lasting = {} if seconds is None else {"seconds": seconds}
    queued = running().queue_job(repository, labels, name=name, **lasting)
    return next(each for each in jobs(ended_too=True) if each["id"] == queued["id"])


def jobs(*, ended_too: bool) -> list[dict[str, Any]]:
    """Jobs, the oldest first, each with the VM that runs it or ran it; None before a runner took it."""
    with running_guests() as guests:
        guests.settle()
    found = [each for each in running().jobs() if ended_too or each["status"] != "completed"]
    for each in found:
        runner = each["runner_name"]
        each["vm"] = runner and (runner_names.vm_of(runner) or runner)
    return found


def guests() -> list[dict[str, Any]]:
    """What the guests of all VMs do, alive until now, by their VMs' names."""
    with running_guests() as found:
        there = sorted(found.settle().vms.values(), key=lambda entry: entry[0].id)
    said = ("phase", "reason", "image", "bundle", "runner", "job", "obeyed")
    return [
        {
            "vm": vm.id, "stack": vm.stack, "pool": vm.pool, "state": vm.state,
            **{key: getattr(disk.state, key) or None for key in said}, "job_id": disk.number or None,
        }
        for vm, disk in there
    ]  # fmt: skip
