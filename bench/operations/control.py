"""Driving the local cloud of this checkout: its control surface, the mess that fleets get into, guests and their jobs.

Owns too which project is meant where nobody says it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, get_args

from bench.cloud import daemon
from bench.cloud.control import Control
from bench.cloud.faults import FaultKind, FaultRule
from bench.cloud.github.work import CONCLUSIONS
from bench.cloud.services.places import REGIONS, ZONES
from bench.guests.disk import Disk
from bench.guests.guests import Guests
from bench.guests.surroundings import Vm
from infra.model import runner_names
from infra.model.catalogue import AcceleratorType, UnknownNameError
from infra.model.errors import meant
from infra.model.stack_text import pulumi_values, stack_names
from infra.operations.errors import Failure, Refusal
from infra.operations.workspace import workspace
from infra.preview.toned import columns
from infra.preview.words import span

if TYPE_CHECKING:
    from bench.operations.broker import LocalGuests

__all__ = ("CONCLUSIONS", "FAULTS")

FAULTS: tuple[str, ...] = get_args(FaultKind)
"""The kinds of faults."""
_MISSING: Final = 404
STRIKES: Final[Mapping[str, str]] = {
    "mute": "when its VM is made again",
    "slow-boot": "when its VM is made again",
    "unfit": "before its next registration: when its job ends, or its VM is restarted or made again",
    "broken": "when it is to run that image, or boots with that bundle",
}
"""Of faults that befall guests: when. One that is idle goes on until then."""


def running() -> Control:
    """The control surface of this checkout's cloud. Raises Failure where it does not run; it raises what it refuses."""
    home = workspace().home
    handle = daemon.running(home)
    if handle is None:
        raise Failure(f"the local cloud of {home} does not run; start it with `./tidepool cloud start`")
    return Control(handle.url)


def running_github() -> Control:
    """The GitHub beside it, in the same way."""
    return Control(running().url)


def running_with(vm: str) -> Control:
    """The control surface of a cloud that has this TPU VM. Refusal where it has none of the name."""
    names = [each["name"].rpartition("/")[2] for each in nodes()]
    if vm not in names:
        raise Refusal(
            f"the local cloud has no TPU VM named {vm}.{meant(vm, names)} `./tidepool cloud node list` has all"
        )
    return running()


@contextmanager
def running_guests() -> Generator[Guests]:
    """The guests of its VMs, for this operation alone, in the same way."""
    with _guests(running().url).turn() as found:
        yield found


def advance_clock(seconds: float) -> None:
    """Move its clock, and let the guests of its VMs live meanwhile."""
    _guests(running().url).advance(seconds)


def _guests(url: str) -> LocalGuests:
    # With a broker and Google's clients, which take longer to import than most of these operations.
    from bench.operations.broker import LocalGuests

    return LocalGuests(home=workspace().home, url=url)


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
    if (zone := given.get("zone")) and not any(fnmatchcase(each, zone) for each in _places()):
        raise Refusal(f"{zone} is not a zone or region.{meant(zone, ZONES)} A fault there would strike nothing")
    cloud = running()
    if lasting is not None:
        given["until"] = cloud.clock()["seconds"] + lasting
    cloud.fail(kind, **given)


def limit(
    zone: str, generation: str, chips: int | None, capacity: Any, project: str | None, name: str, held_elsewhere: int
) -> None:
    """Declare how many chips a zone or a region gives of a generation; None lifts the limit."""
    scope = {"project": project or stack_project(), "zone": zone, "generation": generation, "capacity": capacity}
    if chips is None:
        running().lift(**scope)
    else:
        running().limit(**scope, chips=chips, name=name, held_elsewhere=held_elsewhere)


def _places() -> set[str]:
    """What a request may be about: zones, their regions, and what is of several."""
    return {*ZONES, *REGIONS, "global", "us", "europe", "asia"}


def _differing(fault: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a fault differ from one that only has a kind."""
    plain = FaultRule(kind=fault["kind"]).to_json() | {"id": fault["id"], "seen": fault["seen"]}
    return {key: value for key, value in fault.items() if value != plain[key]}


def requests(limit: int, *, failed: bool) -> list[dict[str, Any]]:
    """The last requests, oldest first. failed: those alone that were refused; a look for a record that nobody has
    written, as every sweep does for operator requests, is none.
    """
    entries = running().log(limit=100_000 if failed else limit)
    return [each for each in entries if _was_refused(each)][-limit:] if failed else entries


def add_node(vm: str, zone: str, managed: str | None, accelerator: str, capacity: str, project: str | None) -> Any:
    """A TPU VM that is READY at once and runs nothing. managed: STACK/POOL of one of ours, None for nobody's."""
    try:
        runtime = AcceleratorType.parse(accelerator).runtime
    except UnknownNameError as error:
        raise Refusal(str(error)) from None
    body = {
        "acceleratorType": accelerator,
        "runtimeVersion": runtime,
        "labels": _labels(managed),
        "schedulingConfig": {} if capacity == "on-demand" else {capacity: True},
    }
    return running().add_node(f"projects/{project or stack_project()}/locations/{zone}/nodes/{vm}", body)


def nodes() -> list[dict[str, Any]]:
    """Every TPU VM that stands, whoever made it, by name."""
    return sorted(running().nodes(), key=lambda each: each["name"].rpartition("/")[2])


def node_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for node in found:
        _, _, _, zone, _, name = node["name"].split("/")
        rows.append((name, zone, node["acceleratorType"], node["state"], owner(node) or "not managed"))
    return columns(("VM", "zone", "accelerator", "state", "of"), rows) or ["no TPU VM stands"]


def owner(node: Mapping[str, Any]) -> str | None:
    """STACK/POOL of a VM of ours; None of others."""
    labels = node.get("labels", {})
    if labels.get("tidepool-managed") != "true":
        return None
    return f"{labels.get('tidepool-stack', '?')}/{labels.get('tidepool-pool', '?')}"


def queue_job(repository: str, labels: Sequence[str], name: str, seconds: float | None) -> dict[str, Any]:
    """A workflow run with one job, and the VM that has taken it. seconds: None until it is ended."""
    lasting = {} if seconds is None else {"seconds": seconds}
    queued = running_github().queue_job(repository, labels, name=name, **lasting)
    with running_guests() as guests:
        taken = [vm.id for vm, disk in guests.settle().vms.values() if disk.number == queued["id"]]
    return {**queued, "vm": next(iter(taken), None)}


def jobs(*, ended_too: bool) -> tuple[list[dict[str, Any]], datetime]:
    """Jobs, the oldest first, each with the VM that runs it or ran it; and the cloud's time."""
    with running_guests() as guests:
        now = datetime.fromtimestamp(guests.settle().now, tz=UTC)
    every = running_github().jobs()
    return [{**each, "vm": _vm_of(each)} for each in every if ended_too or each["status"] != "completed"], now


def job_lines(found: Sequence[Mapping[str, Any]], now: datetime) -> list[str]:
    """Jobs of `jobs`, a row each."""
    rows = [
        (str(each["id"]), each["repository"], each["name"], ", ".join(each["labels"]), _standing(each, now))
        for each in found
    ]
    return columns(("job", "repository", "name", "labels", "now"), rows) or ["no job waits or runs"]


def guests_now() -> list[tuple[Vm, Disk]]:
    """The guests of all VMs, alive until now, by their VMs' names."""
    with running_guests() as guests:
        return sorted(guests.settle().vms.values(), key=lambda entry: entry[0].id)


def guest_json(vm: Vm, disk: Disk) -> dict[str, Any]:
    said = ("phase", "reason", "image", "bundle", "runner", "job", "obeyed")
    more = {key: getattr(disk.state, key) or None for key in said}
    return {"vm": vm.id, "stack": vm.stack, "pool": vm.pool, "state": vm.state, **more, "job_id": disk.number or None}


def guest_lines(found: Sequence[tuple[Vm, Disk]]) -> list[str]:
    """Guests of `guests_now`, a row each."""
    rows = [(vm.id, vm.state if disk.down else disk.state.phase, _doing(disk)) for vm, disk in found]
    return columns(("VM", "is", "why, or what it runs"), rows) or ["no VM has a guest"]


def _standing(job: Mapping[str, Any], now: datetime) -> str:
    """Where a job runs, or ran, or how long it has waited."""
    if job["status"] == "completed":
        return f"{job['conclusion']} on {job['vm']}"
    if job["status"] == "queued":
        return f"waits for {span(now - datetime.fromisoformat(job['created_at']))}"
    return f"runs on {job['vm']} for {span(now - datetime.fromisoformat(job['started_at']))}"


def _doing(disk: Disk) -> str:
    """What a guest runs, or why it runs nothing."""
    return f"job {disk.number}, {disk.state.job}" if disk.state.job else disk.state.reason or disk.state.runner


def _was_refused(entry: Mapping[str, Any]) -> bool:
    return entry["status"] >= 400 and (entry["method"], entry["status"]) != ("storage.objects.get", _MISSING)


def _labels(managed: str | None) -> dict[str, str]:
    if managed is None:
        return {}
    stack, slash, pool = managed.partition("/")
    if not (stack and slash and pool):
        raise Refusal(f"--managed is STACK/POOL, such as ci/tpu-ci, not {managed!r}")
    return {"tidepool-managed": "true", "tidepool-stack": stack, "tidepool-pool": pool}


def _vm_of(job: Mapping[str, Any]) -> str | None:
    """The VM that runs a job, or ran it; None before a runner took it."""
    runner = job["runner_name"]
    return runner and (runner_names.vm_of(runner) or runner)


def fault_lines(faults: Sequence[Mapping[str, Any]], new: str | None) -> list[str]:
    """What goes wrong on purpose, a line each, and when one that befalls guests strikes. new: what was just asked."""
    told = (
        (each, " ".join(f"{key}={_readable(key, value)}" for key, value in _differing(each).items())) for each in faults
    )
    lines = [f"{each['id']:>3} {each['kind']:<11} {said}".rstrip() for each, said in told]
    strikes = [f"{new} strikes a guest {STRIKES[new]}"] if new and new in STRIKES else []
    return [*(lines or ["nothing goes wrong on purpose"]), *strikes]


def _readable(key: str, value: Any) -> Any:
    return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%dT%H:%M:%SZ}" if key == "until" else value


def clock_line(now: Mapping[str, Any]) -> str:
    """What time it is in the cloud, and how that runs."""
    time = datetime.fromisoformat(now["time"])
    ahead = f"{now['offset']:.0f} s ahead; operation delays divided by {now['compression']:g}"
    return f"{time:%Y-%m-%d %H:%M:%S} UTC ({ahead})"


def request_lines(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{entry['status']} {entry['verb']:<6} {entry['path']} {entry['milliseconds']:.1f} ms {entry['error']}".rstrip()
        for entry in entries
    ]


def limit_lines(limits: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        f"{each['project']} {each['zone']} {each['generation']} {each['capacity']}: "
        f"{each['held'] + each['held_elsewhere']} of {each['chips']} chips held"
        for each in limits
    ]
    return lines or ["no limits are declared"]
