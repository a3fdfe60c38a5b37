"""`./tidepool cloud ...`: start, stop and look at the local Google Cloud, and let things go wrong in it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from bench.cloud import daemon
from bench.commands import builds, clusters, fleet, listed, table
from bench.operations import cloud as process
from bench.operations import control
from infra.cli import options
from infra.cli.answers import Answer, answered
from infra.cli.call import Invocation, called
from infra.cli.options import Duration
from infra.operations.workspace import workspace


@click.group(cls=options.Group)
def command() -> None:
    """Drive the local Google Cloud of this checkout: a server on loopback with Google's REST APIs.

    `up` starts it by itself and leaves it running. Its state survives a restart, and it ends when its home folder goes.
    """


for _each in (
    builds.push, builds.builds, fleet.node, fleet.runner, fleet.job, fleet.guests, clusters.k8s,
):  # fmt: skip
    command.add_command(_each)


@command.command()
@answered
def start() -> Answer:
    """Start it in the background; one that runs already is left as it is."""
    place = workspace()
    place.make_home()
    handle = daemon.ensure_running(place.home)
    return {"url": handle.url, "pid": handle.pid}, f"the local cloud runs at {handle.url} (pid {handle.pid})"


@command.command()
@answered
def stop() -> Answer:
    """End it. What it holds stays for the next start."""
    stopped = daemon.stop(workspace().home)
    return {"stopped": stopped}, "stopped" if stopped else "it was not running"


@command.command()
@options.each(options.yes_option, options.json_option)
@called
def reset(call: Invocation) -> int:
    """End it and delete all that it holds, with the states of the stacks on it: the next `up` begins from nothing.

    States in a backend of PULUMI_BACKEND_URL are left.
    """
    call.ask("Deleting all of this checkout's local cloud, and the states of the stacks on it")
    done = process.reset()
    return call.end({"reset": done}, "the local cloud is empty" if done else "there was none")


@command.command()
@answered
def status() -> Answer:
    """Say whether it runs, where, and how many TPU VMs are in which state."""
    found = daemon.status(workspace().home)
    return found, [f"{key:<16} {value}" for key, value in found.items()]


@command.command()
@fleet.vm_argument
@answered
def preempt(*, vm: str) -> Answer:
    """Take a spot or preemptible TPU VM away, as Google does; it stays listed as PREEMPTED."""
    node = control.running().preempt(vm)
    return node, f"{vm} is {node['state']}"


@command.command()
@fleet.vm_argument
@click.option("--for", "seconds", type=Duration(), help="How long, in cloud time; 10m when left out.")
@answered
def maintain(*, vm: str, seconds: float | None) -> Answer:
    """Begin a maintenance event of a TPU VM."""
    node = control.running().maintain(vm, seconds)
    return node, f"{vm} is under maintenance: {node.get('health', node['state'])}"


_RULE = (
    # How a fault is bounded: the option, its name where that is another, its type, what it says.
    ("--zone", "", None, "Zones, with * as a wildcard."),
    ("--accelerator", "", None, "Accelerator types, with *."),
    ("--name", "", None, "Names of VMs or other resources, with *."),
    ("--method", "", None, "Methods such as tpu.projects.locations.nodes.create, with *."),
    ("--running", "", None, "Images and bundles that `broken` is about, such as *@sha256:0a1b*."),
    ("--code", "", int, "HTTP status of `error`; 503 when left out."),
    ("--status", "", None, "Status of `operation`, such as INTERNAL."),
    ("--message", "", None, "What the failure says."),
    ("--late", "seconds", Duration(), "How late `slow` answers, `slow-boot` is up, `lag` shows."),
    ("--per-hour", "", float, "Chance per VM and hour of `preempt`."),
    ("--per-minute", "", int, "Requests of a project that `rate` takes a minute."),
    ("--count", "", int, "How often; for ever when left out."),
    ("--probability", "", float, "Chance that it happens to one request."),
    ("--seed", "", int, "The same seed gives the same chances."),
    ("--for", "lasting", Duration(), "How long, in cloud time."),
)


@command.command()
@click.argument("kind", metavar="[KIND]", required=False, type=options.NearChoice(lambda: control.FAULTS))
@options.each(*(click.option(*filter(None, each[:2]), type=each[2], help=each[3]) for each in _RULE))
@click.option("--mend-all", is_flag=True, help="Remove every fault.")
@answered
def fail(*, kind: str | None, lasting: float | None, mend_all: bool, **rule: Any) -> Answer:
    """Make requests go wrong; without a KIND, list what is going wrong.

    \b
    error        refuse with --code (429, 503, ...)
    rate         refuse what is more than --per-minute
    slow         answer --late
    lost         do it, and break off in the middle of the answer
    unreachable  lists leave out --zone, and name it as unreachable
    missing      lists leave out entries, each with --probability
    lag          lists show what is new --late
    stockout     creates of TPUs and node pools answer 200 and fail for want of capacity
    operation    calls to TPUs and clusters answer 200 and fail with --status
    hang         their creates and deletes do not end, or do so --late
    preempt      take VMs away at --per-hour
    mute         VMs boot and never register
    slow-boot    VMs boot, --late
    unfit        VMs call themselves unfit, for --message
    broken       VMs come to nothing with an image or bundle, --running

    One zone at 503, for ten minutes of cloud time: ./tidepool cloud fail error --zone us-west4-a --for 10m
    """
    if kind is not None:
        control.fail(kind, lasting=lasting, **rule)
    cloud = control.running()
    if mend_all:
        cloud.mend()
    faults = cloud.faults()
    shown = ("id", "kind", "method", "zone", "accelerator", "name", "running", "code", "seconds", "count", "until")
    return {"faults": faults}, table("faults", [_told(each) for each in faults], *shown)


def _told(fault: Mapping[str, Any]) -> dict[str, Any]:
    """A fault without the fields that its kind does not use, and its end as a date."""
    until = fault["until"] and f"{datetime.fromtimestamp(fault['until'], UTC):%F %T}"
    code = fault["code"] if fault["kind"] == "error" else None
    return {**fault, "code": code, "seconds": fault["seconds"] or None, "until": until}


@command.command()
@click.option("--advance", type=Duration(), help="Move the cloud's time forward: 90s, 24h, ...")
@click.option("--compression", type=float, help="Divide operation delays by this.")
@answered
def clock(*, advance: float | None, compression: float | None) -> Answer:
    """Say what time it is in the cloud, or move it. What becomes due happens: 24 h end a preemptible VM."""
    cloud = control.running()
    if compression is not None:
        cloud.set_compression(compression)
    if advance is not None:
        control.advance_clock(advance)
    now = {**cloud.clock(), "compression": cloud.status()["compression"]}
    return now, f"{now['time']} ({now['offset']:.0f} s ahead; operation delays divided by {now['compression']:g})"


@command.command()
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many.")
@click.option("--failed", is_flag=True, help="Only those that were refused; a record that is not there yet is none.")
@answered
def log(*, limit: int, failed: bool) -> Answer:
    """Show the last requests, oldest first. No body, query or header is ever kept."""
    entries = control.requests(limit, failed=failed)
    return listed("entries", entries, "status", "verb", "path", "milliseconds", "error")


@command.command()
@click.argument("zone", required=False)
@click.argument("generation", required=False)
@click.argument("chips", required=False, type=click.IntRange(0))
@click.option(
    "--capacity", type=click.Choice(["on-demand", "preemptible", "reserved"]), default="preemptible", show_default=True,
    help="Which quota; spot draws on the preemptible one. reserved is a reservation.",
)  # fmt: skip
@fleet.project_option
@click.option("--name", default="", help="Name of a reservation.")
@click.option("--held-elsewhere", type=click.IntRange(0), default=0, help="Chips of it that others hold.")
@answered
def limit(
    *, zone: str | None, generation: str | None, capacity: Any, project: str | None, chips: int | None, **more: Any
) -> Answer:
    """Declare how many chips a zone, or a region, gives of a generation; without CHIPS, that there is no limit.

    Without arguments, list the limits. A quota of 8 preemptible v5e chips: ./tidepool cloud limit us-west4-a v5e 8
    """
    cloud = control.running()
    if zone is not None:
        if generation is None:
            raise click.UsageError("a limit needs ZONE GENERATION CHIPS")
        scope = {"project": project or control.stack_project(), "zone": zone, "generation": generation}
        if chips is None:
            cloud.lift(**scope, capacity=capacity)
        else:
            cloud.limit(**scope, capacity=capacity, chips=chips, **more)
    shown = ("project", "zone", "generation", "capacity", "chips", "held", "held_elsewhere", "name")
    return listed("limits", cloud.limits(), *shown)
