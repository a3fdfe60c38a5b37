"""`./tidepool why VM`: one VM's story in order, how it stands now, and what the controller does with it next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.render.console import machines, people, say
from infra.cli.render.teller import ConsoleTeller
from infra.cli.render.times import ago, due
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records
from infra.fleet.reports import read_report
from infra.fleet.status.story import Story, story
from infra.model import names, runner_names
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import Fleet, UnknownSubject, fleets_declared, open_fleet, stack_of
from infra.operations.ports import CloudName
from infra.operations.session import cloud_without_engine

_STYLES = {"controller": "cyan", "vm": "green", "broker": "magenta", "tpu api": "blue"}


@click.command(name="why", short_help="Tell one VM's story: made, booted, registered, jobs, healed.")
@click.argument("vm", metavar="VM")
@options.stack_option
@options.cloud_option
@options.json_option
def command(*, vm: str, stack: str | None, cloud: CloudName | None, as_json: bool) -> None:
    """Tell the story of VM, or of a runner's VM, in order: created, booted step by step, registered, jobs, taken away,
    healed; with how it stands now and what the controller does next. Times are UTC.

    It reads what the controller remembers, the VM's own report and the broker's record, and changes nothing.
    """
    console = people(as_json=as_json)
    vm = runner_names.vm_of(vm) or vm
    try:
        owner = stack_of(vm, stack)
    except UnknownSubject as unknown:
        told = _seen(vm, stack, cloud, console)
        if told is None:
            raise Refusal(f"{unknown}; no other VM of that name was seen in their zones") from None
    else:
        told = _of_a_pool(vm, open_fleet(owner, cloud, ConsoleTeller(console)))
    if as_json:
        machines(told.to_json() | {"exit": 0})
    else:
        _show(console, told, cloud_without_engine(cloud).cloud.said)


def _of_a_pool(vm: str, fleet: Fleet) -> Story:
    pool = _pool(vm, fleet)
    try:
        scene = fleet.look()
        with clients(fleet.place.project, fleet.place.endpoint) as google:
            records = Records(google=google, bucket=fleet.place.bucket)
            report = read_report(records, pool, vm)
            binding = _read(records, names.binding_object(fleet.stack, vm))
    except GoogleError as error:
        raise Failure(str(error)) from None
    return story(vm, scene, report, binding)


def _seen(vm: str, stack: str | None, cloud: CloudName | None, console: Console) -> Story | None:
    """What is known of a VM whose name is of no pool, as of somebody else's in a zone of ours; None if none is seen."""
    for name in fleets_declared(stack):
        try:
            scene = open_fleet(name, cloud, ConsoleTeller(console)).look()
        except GoogleError:
            continue
        if scene.observed and any(node.name == vm for node in scene.observed.nodes):
            return story(vm, scene, None, None)
    return None


def _show(console: Console, told: Story, cloud: str) -> None:
    say(console, Text.assemble((told.vm, "bold"), f"  of {told.stack} on {cloud}, at {told.at:%Y-%m-%d %H:%M:%S} UTC"))
    for line in told.now:
        say(console, f"  now: {line}")
    for step in told.next:
        when = f" at {due(step.at, told.at)}, {ago(step.at, told.at)}" if step.at else ""
        say(console, f"  next{when}: {step.what}")
    if not told.lines:
        say(console, "no story is known: it was never made, or nobody remembers")
    width = max((len(ago(line.at, told.at)) for line in told.lines), default=0)
    for line in told.lines:
        when = f"{line.at:%m-%d %H:%M:%S}  {ago(line.at, told.at):>{width}}  "
        say(console, Text.assemble(when, (f"{line.source:<10}", _STYLES[line.source]), f"  {line.what}"))


def _pool(vm: str, fleet: Fleet) -> str:
    pools = sorted((pool.name for pool in fleet.config.pools if vm.startswith(f"{pool.name}-")), key=len)
    if not pools:
        raise Refusal(f"{vm} is a pool; a VM is POOL-ZONE-INDEX, as in `./tidepool status {fleet.stack}`")
    return pools[-1]


def _read(records: Records, name: str) -> Mapping[str, Any] | None:
    record = records.read(name)
    return record.body if record else None
