"""`./tidepool cloud ...`: start, stop and look at the local Google Cloud, and let things go wrong in it."""

from __future__ import annotations

from typing import Any

import click

from bench.commands import builds, clusters, fleet
from bench.operations import cloud as process
from bench.operations import control
from infra.cli import options
from infra.cli.answers import Answer, answered
from infra.cli.call import Invocation, called
from infra.cli.options import Duration
from infra.preview import words
from infra.preview.toned import Tone

STACK_LABEL = "tidepool-stack"


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
    handle = process.start()
    return {"url": handle.url, "pid": handle.pid}, f"the local cloud runs at {handle.url} (pid {handle.pid})"


@command.command()
@answered
def stop() -> Answer:
    """End it. What it holds stays for the next start."""
    stopped = process.stop()
    return {"stopped": stopped}, "stopped" if stopped else "it was not running"


@command.command()
@options.each(options.yes_option, options.json_option)
@called
def reset(call: Invocation) -> int:
    """End it and delete all that it holds, with the states of the stacks on it: the next `up` begins from nothing.

    States in a backend of PULUMI_BACKEND_URL are named and left.
    """
    left = [str(each) for each in process.states_elsewhere()]
    if left:
        said = (
            "PULUMI_BACKEND_URL keeps states elsewhere, which are left; of a cloud that is gone, delete them by hand:"
        )
        call.say(said, *(f"  {each}" for each in left), tone=Tone.WARNING)
    call.ask("Deleting all of this checkout's local cloud, and the states of the stacks on it")
    done = process.reset()
    return call.end({"reset": done, "left": left}, "the local cloud is empty" if done else "there was none")


@command.command()
@answered
def status() -> Answer:
    """Say whether it runs, where, and how many TPU VMs are in which state."""
    found = process.status()
    return found, process.status_lines(found)


@command.command()
@click.argument("vm", metavar="VM-NAME", type=options.Name("vm"))
@answered
def preempt(*, vm: str) -> Answer:
    """Take a spot or preemptible TPU VM away, as Google does; it stays listed as PREEMPTED."""
    node = control.running_with(vm).preempt(vm)
    stack = node.get("labels", {}).get(STACK_LABEL)
    return node, [f"{vm} is {node['state']}", *([words.ended_words(stack, [vm])] if stack else [])]


@command.command()
@click.argument("vm", metavar="VM-NAME", type=options.Name("vm"))
@click.option("--for", "seconds", type=Duration(), help="How long, in cloud time; 10m when left out.")
@answered
def maintain(*, vm: str, seconds: float | None) -> Answer:
    """Begin a maintenance event of a TPU VM."""
    node = control.running_with(vm).maintain(vm, seconds)
    return node, f"{vm} is under maintenance: {node.get('health', node['state'])}"


@command.command()
@click.argument("kind", metavar="[KIND]", required=False, type=options.NearChoice(lambda: control.FAULTS))
@click.option("--zone", help="Zones, with * as a wildcard.")
@click.option("--accelerator", help="Accelerator types, with *.")
@click.option("--name", help="Names of VMs or other resources, with *.")
@click.option("--method", help="Methods such as tpu.projects.locations.nodes.create, with *.")
@click.option("--running", help="Images and bundles that `broken` is about, such as *@sha256:0a1b*.")
@click.option("--code", type=click.IntRange(400, 599), help="HTTP status of `error`; 503 when left out.")
@click.option("--status", help="Status of `operation`, such as INTERNAL.")
@click.option("--message", help="What the failure says.")
@click.option("--late", "seconds", type=Duration(), help="How late `slow` answers, `slow-boot` is up, `lag` shows.")
@click.option("--per-hour", type=float, help="Chance per VM and hour of `preempt`.")
@click.option("--per-minute", type=click.IntRange(0), help="Requests of a project that `rate` takes a minute.")
@click.option("--count", type=click.IntRange(1), help="How often; for ever when left out.")
@click.option("--probability", type=click.FloatRange(0, 1), help="Chance that it happens to one request.")
@click.option("--seed", type=int, help="The same seed gives the same chances.")
@click.option("--for", "lasting", type=Duration(), help="How long, in cloud time.")
@click.option("--mend", type=int, metavar="ID", help="Remove this fault.")
@click.option("--mend-all", is_flag=True, help="Remove every fault.")
@answered
def fail(*, kind: str | None, lasting: float | None, mend: int | None, mend_all: bool, **rule: Any) -> Answer:
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
    if kind is not None and not mend_all and mend is None:
        control.fail(kind, lasting=lasting, **rule)
    cloud = control.running()
    if mend_all or mend is not None:
        cloud.mend(mend)
    faults = cloud.faults()
    return {"faults": faults}, control.fault_lines(faults, kind)


@command.command()
@click.option("--advance", type=Duration(), help="Move the cloud's time forward: 90s, 24h, ...")
@click.option("--compression", type=click.FloatRange(min=0, min_open=True), help="Divide operation delays by this.")
@answered
def clock(*, advance: float | None, compression: float | None) -> Answer:
    """Say what time it is in the cloud, or move it. What becomes due happens: 24 h end a preemptible VM."""
    cloud = control.running()
    if compression is not None:
        cloud.set_compression(compression)
    if advance is not None:
        control.advance_clock(advance)
    now = cloud.clock()
    now["compression"] = cloud.status()["compression"]
    return now, control.clock_line(now)


@command.command()
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many.")
@click.option("--failed", is_flag=True, help="Only those that were refused; a record that is not there yet is none.")
@answered
def log(*, limit: int, failed: bool) -> Answer:
    """Show the last requests, oldest first. No body, query or header is ever kept."""
    entries = control.requests(limit, failed=failed)
    return {"entries": entries}, control.request_lines(entries)


@command.command()
@click.argument("zone", required=False)
@click.argument("generation", required=False)
@click.argument("chips", required=False, type=click.IntRange(0))
@click.option(
    "--capacity", type=click.Choice(["on-demand", "preemptible", "reserved"]), default="preemptible", show_default=True,
    help="Which quota; spot draws on the preemptible one. reserved is a reservation.",
)  # fmt: skip
@click.option("--project", help="Whose; the project of the stack files when left out.")
@click.option("--name", default="", help="Name of a reservation.")
@click.option("--held-elsewhere", type=click.IntRange(0), default=0, help="Chips of it that others hold.")
@click.option("--lift", is_flag=True, help="Remove the limit of ZONE and GENERATION.")
@answered
def limit(
    *, zone: str | None, generation: str | None, chips: int | None, capacity: Any, project: str | None, name: str,
    held_elsewhere: int, lift: bool,
) -> Answer:  # fmt: skip
    """Declare how many chips a zone, or a region, gives of a generation; without arguments, list the limits.

    A quota of 8 preemptible v5e chips: ./tidepool cloud limit us-west4-a v5e 8
    """
    if zone is not None:
        if generation is None or (chips is None and not lift):
            raise click.UsageError("a limit needs ZONE GENERATION CHIPS, and --lift needs ZONE GENERATION")
        control.limit(zone, generation, None if lift else chips, capacity, project, name, held_elsewhere)
    limits = control.running().limits()
    return {"limits": limits}, control.limit_lines(limits)
