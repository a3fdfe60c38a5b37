"""`./tidepool cloud node|runner|job|guests ...`: the mess that fleets get into, made on purpose.

Owns the words of these commands. What they do is `infra.local.cloud` and `infra.local.guests`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from infra.cli import options
from infra.cli.cloud_told import answer, running, stack_project
from infra.cli.duration import Duration
from infra.cli.failures import Refusal
from infra.cli.local_guests import LocalGuests
from infra.cli.workspace import workspace
from infra.local.cloud.github.control import GitHubControl
from infra.local.cloud.github.work import CONCLUSIONS
from infra.local.guests.guests import Guests, Look
from infra.model.catalogue import AcceleratorType, UnknownNameError


@click.group(short_help="Add and remove TPU VMs behind everybody's back.")
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
    with running() as control:
        made = GitHubControl(control.url).add_runner(place, name, status=status, labels=list(labels))
    answer(as_json, made, f"{name} is {status} at {place}")


@runner.command(name="lose")
@click.argument("vm", metavar="VM-NAME")
@options.json_option
def lose_runner(*, vm: str, as_json: bool) -> None:
    """GitHub forgets the registration of a VM, whose runner goes on listening and hears nothing."""
    with guests_of_this_cloud() as guests:
        lost = guests.lose_runner(vm)
    answer(as_json, {"vm": vm, "runner": lost}, f"GitHub knows no {lost} any more, and {vm} does not know")


@click.group(short_help="Queue jobs for the VMs' runners, and end them.")
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
    with running() as control:
        queued = GitHubControl(control.url).queue_job(repository, labels, name=name, **lasting)
    with guests_of_this_cloud() as guests:
        taken = [vm.id for vm, disk in guests.settle().vms.values() if disk.number == queued["id"]]
    where = f"runs on {taken[0]}" if taken else f"waits for a runner with {', '.join(labels)}"
    answer(as_json, {**queued, "vm": next(iter(taken), None)}, f"job {queued['id']} {where}")


@job.command(name="end")
@click.argument("number", type=int)
@click.option("--conclusion", type=click.Choice(CONCLUSIONS), default="success", show_default=True)
@options.json_option
def end_job(*, number: int, conclusion: str, as_json: bool) -> None:
    """A running job ends now; its VM cleans up and registers again."""
    with guests_of_this_cloud() as guests:
        guests.end_job(number, conclusion)
    answer(as_json, {"job": number, "conclusion": conclusion}, f"job {number} ended: {conclusion}")


@click.command(short_help="Let the guests of VMs live until now, and say what each does.")
@options.json_option
def guests(*, as_json: bool) -> None:
    """Let the guests of all VMs live until now, and say what each does.

    A guest boots, registers with the real broker, takes jobs, and writes the report that a VM would. `reconcile`,
    `status`, `why` and `cloud clock --advance` let them live as well.
    """
    with guests_of_this_cloud() as each:
        look = each.settle()
    answer(as_json, {"guests": [_told(entry) for entry in look.vms.values()]}, *(_lines(look) or ["no VM has a guest"]))


@contextmanager
def guests_of_this_cloud() -> Generator[Guests]:
    """The guests of the cloud that runs, for this command alone. Raises Failure where none runs."""
    with running() as control, LocalGuests(home=workspace().home, url=control.url).turn() as found:
        yield found


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


def _told(entry: tuple[Any, Any]) -> Mapping[str, Any]:
    vm, disk = entry
    said = ("phase", "reason", "image", "bundle", "runner", "job", "obeyed")
    more = {key: getattr(disk, key) or None for key in said}
    return {"vm": vm.id, "stack": vm.stack, "pool": vm.pool, "state": vm.state, **more, "job_id": disk.number or None}


def _lines(look: Look) -> list[str]:
    wide = max((len(vm.id) for vm, _ in look.vms.values()), default=0)
    return [
        f"{vm.id:<{wide}}  {vm.state if disk.down else disk.phase:<11}  "
        f"{(disk.job and f'job {disk.number}, {disk.job}') or disk.reason or disk.runner}".rstrip()
        for vm, disk in look.vms.values()
    ]
