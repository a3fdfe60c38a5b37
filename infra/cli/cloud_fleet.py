"""`./tidepool cloud node|runner|job|guests ...`: the mess that fleets get into, made on purpose.

Owns the words of these commands. What they do is `infra.local.cloud` and `infra.local.guests`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from infra.cli import options
from infra.cli.duration import Duration
from infra.cli.render.console import answer, columns
from infra.cli.render.times import span
from infra.model import runner_names
from infra.model.catalogue import AcceleratorType, UnknownNameError
from infra.operations.errors import Refusal
from infra.operations.local.control import CONCLUSIONS, Disk, Vm, running, running_github, running_guests, stack_project


@click.group(short_help="List TPU VMs; add and remove some behind everybody's back.")
def node() -> None:
    """TPU VMs that nobody asked the API for, and that vanish without its doing."""


@node.command(name="add")
@click.argument("vm", metavar="VM-NAME")
@click.option("--zone", required=True, help="Where it stands.")
@click.option("--managed", metavar="STACK/POOL", help="With the labels of a VM of ours; nobody's when left out.")
@click.option("--accelerator", default="v5litepod-4", show_default=True)
@click.option(
    "--capacity", type=click.Choice(["on-demand", "spot", "preemptible", "reserved"]), default="preemptible",
    show_default=True,
)  # fmt: skip
@click.option("--project", help="Whose; the project of the stack files when left out.")
@options.json_option
def add_node(
    *, vm: str, zone: str, managed: str | None, accelerator: str, capacity: str, project: str | None, as_json: bool
) -> None:
    """A TPU VM that is READY at once and runs nothing.

    \b
    an orphan, which the controller deletes:   cloud node add tpu-ci-us-west4-a-9 --zone us-west4-a --managed ci/tpu-ci
    somebody's, which it reports:              cloud node add research --zone us-west4-a
    """
    body = {
        "acceleratorType": accelerator,
        "runtimeVersion": _runtime(accelerator),
        "labels": _labels(managed),
        "schedulingConfig": {} if capacity == "on-demand" else {capacity: True},
    }
    with running() as control:
        made = control.add_node(f"projects/{project or stack_project()}/locations/{zone}/nodes/{vm}", body)
    answer(as_json, made, f"{vm} is {made['state']} in {zone}, {'of ' + managed if managed else 'not managed'}")


@node.command(name="list")
@options.json_option
def list_nodes(*, as_json: bool) -> None:
    """Every TPU VM that stands, whoever made it."""
    with running() as control:
        nodes = sorted(control.nodes(), key=lambda each: each["name"].rpartition("/")[2])
    lines = columns(("VM", "zone", "accelerator", "state", "of"), [_row(each) for each in nodes])
    answer(as_json, {"nodes": nodes}, *(lines or ["no TPU VM stands"]))


@node.command(name="remove")
@click.argument("vm", metavar="VM-NAME")
@options.json_option
def remove_node(*, vm: str, as_json: bool) -> None:
    """A TPU VM is gone at once, and no operation says so."""
    with running() as control:
        control.remove_node(vm)
    answer(as_json, {"removed": vm}, f"{vm} is gone")


@click.group(short_help="Add runners to the local GitHub, or let it lose one.")
def runner() -> None:
    """Runners as GitHub lists them."""


@runner.command(name="add")
@click.argument("place", metavar="OWNER[/NAME]")
@click.argument("name")
@click.option("--online", is_flag=True, help="As if its program were connected.")
@click.option("--label", "labels", multiple=True, help="A label of it; again for more.")
@options.json_option
def add_runner(*, place: str, name: str, online: bool, labels: tuple[str, ...], as_json: bool) -> None:
    """A registration of a repository, or of an organisation, with no VM behind it.

    A ghost of ours, which the controller removes: cloud runner add marin-community/marin tpu-ci-us-west4-a-7-0a1b2c
    """
    status = "online" if online else "offline"
    with running_github() as github:
        made = github.add_runner(place, name, status=status, labels=list(labels))
    answer(as_json, made, f"{name} is {status} at {place}")


@runner.command(name="lose")
@click.argument("vm", metavar="VM-NAME")
@options.json_option
def lose_runner(*, vm: str, as_json: bool) -> None:
    """GitHub forgets the registration of a VM, whose runner goes on listening and hears nothing."""
    with running_guests() as guests:
        lost = guests.lose_runner(vm)
    answer(as_json, {"vm": vm, "runner": lost}, f"GitHub knows no {lost} any more, and {vm} does not know")


@click.group(short_help="List jobs, queue some for the VMs' runners, and end them.")
def job() -> None:
    """Jobs of workflows: a runner takes the oldest that waits for labels which it has."""


@job.command(name="queue")
@click.argument("repository", metavar="OWNER/NAME")
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@click.option("--for", "seconds", type=Duration(), help="How long it runs, in cloud time; until `job end` if left out.")
@click.option("--name", default="Tests", show_default=True)
@options.json_option
def queue_job(*, repository: str, labels: tuple[str, ...], seconds: float | None, name: str, as_json: bool) -> None:
    """A workflow run with one job, such as: cloud job queue marin-community/marin tpu-ci --for 10m"""
    lasting = {} if seconds is None else {"seconds": seconds}
    with running_github() as github:
        queued = github.queue_job(repository, labels, name=name, **lasting)
    with running_guests() as guests:
        taken = [vm.id for vm, disk in guests.settle().vms.values() if disk.number == queued["id"]]
    where = f"runs on {taken[0]}" if taken else f"waits for a runner with {', '.join(labels)}"
    answer(as_json, {**queued, "vm": next(iter(taken), None)}, f"job {queued['id']} {where}")


@job.command(name="list")
@click.option("--all", "ended_too", is_flag=True, help="Also those that have ended.")
@options.json_option
def list_jobs(*, ended_too: bool, as_json: bool) -> None:
    """Jobs that wait or run, the oldest first, each with the number that `job end` takes."""
    with running_guests() as guests:
        now = datetime.fromtimestamp(guests.settle().now, tz=UTC)
    with running_github() as github:
        every = github.jobs()
    jobs: list[dict[str, Any]] = [
        {**each, "vm": _vm_of(each)} for each in every if ended_too or each["status"] != "completed"
    ]
    rows = [
        (str(each["id"]), each["repository"], each["name"], ", ".join(each["labels"]), _stands(each, now))
        for each in jobs
    ]
    lines = columns(("job", "repository", "name", "labels", "now"), rows)
    answer(as_json, {"jobs": jobs}, *(lines or ["no job waits or runs"]))


@job.command(name="end")
@click.argument("number", type=int)
@click.option("--conclusion", type=click.Choice(CONCLUSIONS), default="success", show_default=True)
@options.json_option
def end_job(*, number: int, conclusion: str, as_json: bool) -> None:
    """A running job ends now; its VM cleans up and registers again."""
    with running_guests() as guests:
        guests.end_job(number, conclusion)
    answer(as_json, {"job": number, "conclusion": conclusion}, f"job {number} ended: {conclusion}")


@click.command(short_help="Let the guests of VMs live until now, and say what each does.")
@options.json_option
def guests(*, as_json: bool) -> None:
    """Let the guests of all VMs live until now, and say what each does.

    A guest boots, registers with the real broker, takes jobs, and writes the report that a VM would. `reconcile`,
    `status`, `why` and `cloud clock --advance` let them live as well.
    """
    with running_guests() as each:
        look = each.settle()
    found = sorted(look.vms.values(), key=lambda entry: entry[0].id)
    rows = [(vm.id, vm.state if disk.down else disk.phase, _doing(disk)) for vm, disk in found]
    lines = columns(("VM", "is", "why, or what it runs"), rows)
    answer(as_json, {"guests": [_told(*entry) for entry in found]}, *(lines or ["no VM has a guest"]))


def _labels(managed: str | None) -> dict[str, str]:
    if managed is None:
        return {}
    stack, slash, pool = managed.partition("/")
    if not (stack and slash and pool):
        raise click.UsageError(f"--managed is STACK/POOL, such as ci/tpu-ci, not {managed!r}")
    return {"tidepool-managed": "true", "tidepool-stack": stack, "tidepool-pool": pool}


def _runtime(accelerator: str) -> str:
    try:
        return AcceleratorType.parse(accelerator).runtime
    except UnknownNameError as error:
        raise Refusal(str(error)) from None


def _told(vm: Vm, disk: Disk) -> Mapping[str, Any]:
    said = ("phase", "reason", "image", "bundle", "runner", "job", "obeyed")
    more = {key: getattr(disk, key) or None for key in said}
    return {"vm": vm.id, "stack": vm.stack, "pool": vm.pool, "state": vm.state, **more, "job_id": disk.number or None}


def _doing(disk: Disk) -> str:
    return f"job {disk.number}, {disk.job}" if disk.job else disk.reason or disk.runner


def _row(node: Mapping[str, Any]) -> tuple[str, ...]:
    _, _, _, zone, _, name = node["name"].split("/")
    return name, zone, node["acceleratorType"], node["state"], _owner(node)


def _owner(node: Mapping[str, Any]) -> str:
    """STACK/POOL of a VM of ours; what people write behind --managed."""
    labels = node.get("labels", {})
    if labels.get("tidepool-managed") != "true":
        return "not managed"
    return f"{labels.get('tidepool-stack', '?')}/{labels.get('tidepool-pool', '?')}"


def _vm_of(job: Mapping[str, Any]) -> str | None:
    """The VM that runs a job, or ran it; None before a runner took it."""
    runner = job["runner_name"]
    return runner and (runner_names.vm_of(runner) or runner)


def _stands(job: Mapping[str, Any], now: datetime) -> str:
    if job["status"] == "completed":
        return f"{job['conclusion']} on {job['vm']}"
    if job["status"] == "queued":
        return f"waits for {span(now - datetime.fromisoformat(job['created_at']))}"
    return f"runs on {job['vm']} for {span(now - datetime.fromisoformat(job['started_at']))}"
