"""`./tidepool cloud node|runner|job|guests ...`: the mess that fleets get into, made on purpose."""

from __future__ import annotations

import click

from bench.commands import listed
from bench.operations import control
from infra.cli import options
from infra.cli.answers import Answer, answered
from infra.cli.options import Duration, Name, NearChoice

vm_argument = click.argument("vm", metavar="VM-NAME", type=Name("vm"))
project_option = click.option("--project", help="Whose; the project of the stack files when left out.")


@click.group(cls=options.Group, short_help="List TPU VMs; add and remove some behind everybody's back.")
def node() -> None:
    """Add and remove TPU VMs behind the API's back."""


@node.command(name="add")
@vm_argument
@click.option("--zone", required=True, help="Where it stands.")
@click.option("--managed", metavar="STACK/POOL", help="With the labels of a VM of ours; nobody's when left out.")
@project_option
@answered
def add_node(*, vm: str, zone: str, managed: str | None, project: str | None) -> Answer:
    """Add a TPU VM that is READY at once and runs nothing.

    \b
    an orphan, which the controller deletes:   cloud node add tpu-ci-us-west4-a-9 --zone us-west4-a --managed ci/tpu-ci
    somebody's, which it reports:              cloud node add research --zone us-west4-a
    """
    made = control.add_node(vm, zone, managed, project)
    return made, f"{vm} is {made['state']} in {zone}"


@node.command(name="list")
@answered
def list_nodes() -> Answer:
    """List every TPU VM that stands, whoever made it."""
    nodes = sorted(control.running().nodes(), key=lambda each: each["name"].rpartition("/")[2])
    return listed("nodes", nodes, "name", "acceleratorType", "state")


@node.command(name="remove")
@vm_argument
@answered
def remove_node(*, vm: str) -> Answer:
    """Remove a TPU VM at once, without an operation."""
    control.running().remove_node(vm)
    return {"removed": vm}, f"{vm} is gone"


@click.group(cls=options.Group, short_help="Add runners to the local GitHub, or let it lose one.")
def runner() -> None:
    """Runners as GitHub lists them."""


@runner.command(name="add")
@click.argument("place", metavar="OWNER[/NAME]")
@click.argument("name")
@answered
def add_runner(*, place: str, name: str) -> Answer:
    """Add an offline registration of a repository, or of an organisation, with no VM behind it.

    A ghost of ours, which the controller removes: cloud runner add marin-community/marin tpu-ci-us-west4-a-7-0a1b2c
    """
    return control.running().add_runner(place, name, status="offline"), f"{name} is offline at {place}"


@runner.command(name="lose")
@vm_argument
@answered
def lose_runner(*, vm: str) -> Answer:
    """Make GitHub forget the registration of a VM; its runner goes on listening and hears nothing."""
    with control.running_guests() as guests:
        lost = guests.lose_runner(vm)
    return {"vm": vm, "runner": lost}, f"GitHub knows no {lost} any more, and {vm} does not know"


@click.group(cls=options.Group, short_help="List jobs, queue some for the VMs' runners, and end them.")
def job() -> None:
    """Jobs of workflows: a runner takes the oldest that waits for labels which it has."""


@job.command(name="queue")
@click.argument("repository", metavar="OWNER/NAME")
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@click.option("--for", "seconds", type=Duration(), help="How long it runs, in cloud time; until `job end` if left out.")
@click.option("--name", default="Tests", show_default=True)
@answered
def queue_job(*, repository: str, labels: tuple[str, ...], seconds: float | None, name: str) -> Answer:
    """Queue a workflow run with one job, such as: cloud job queue marin-community/marin tpu-ci --for 10m"""
    queued = control.queue_job(repository, labels, name, seconds)
    return queued, f"job {queued['id']} " + (f"runs on {queued['vm']}" if queued["vm"] else "waits for a runner")


@job.command(name="list")
@click.option("--all", "ended_too", is_flag=True, help="Also those that have ended.")
@answered
def list_jobs(*, ended_too: bool) -> Answer:
    """List jobs that wait or run, the oldest first, each with the number that `job end` takes."""
    shown = ("id", "repository", "name", "labels", "status", "conclusion", "vm", "created_at")
    return listed("jobs", control.jobs(ended_too=ended_too), *shown)


@job.command(name="end")
@click.argument("number", type=int)
@click.option(
    "--conclusion", metavar="HOW", type=NearChoice(lambda: control.CONCLUSIONS), default="success", show_default=True
)
@answered
def end_job(*, number: int, conclusion: str) -> Answer:
    """End a running job now; its VM cleans up and registers again."""
    with control.running_guests() as guests:
        guests.end_job(number, conclusion)
    return {"job": number, "conclusion": conclusion}, f"job {number} ended: {conclusion}"


@click.command(short_help="Let the guests of VMs live until now, and say what each does.")
@answered
def guests() -> Answer:
    """Let the guests of all VMs live until now, and say what each does.

    A guest boots, registers with the real broker, takes jobs, and writes the report that a VM would. `reconcile`,
    `status`, `why` and `cloud clock --advance` let them live as well.
    """
    return listed("guests", control.guests(), "vm", "state", "phase", "job_id", "job", "reason")
