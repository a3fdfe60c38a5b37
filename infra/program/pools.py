"""The VMs of one pool, and what the stack's outputs say of them."""

from __future__ import annotations

from typing import Any

from infra.components.fleet_records import FleetRecords
from infra.components.identities import Identities
from infra.components.network import Network
from infra.components.runner_pool import BetweenHosts, RunnerPoolArgs, RunnerVm
from infra.fleet.bundle import STUB
from infra.model import fleet, names
from infra.model.node import node_spec
from infra.model.schema import Pool, StackConfig
from infra.program.shared import pool_key


def pool_args(
    config: StackConfig, pool: Pool, network: Network, identities: Identities, records: FleetRecords
) -> RunnerPoolArgs:
    stub = STUB.read_text(encoding="utf-8")
    account = identities.accounts[pool_key(pool)]
    between = BetweenHosts(
        project=config.project,
        name=names.slice_firewall(config.stack, pool.name),
        network=network.network_path,
        email=account.email,
    )
    return RunnerPoolArgs(
        between=between if pool.accelerator.multi_host else None,
        vms=tuple(
            RunnerVm(
                spec=node_spec(config, slot, startup_script=stub),
                hosts=pool.accelerator.hosts,
                after=(account, *network.ways_out[slot.region], records.last),
            )
            for slot in fleet.pool_slots(config, pool)
        ),
    )


def pool_output(config: StackConfig, pool: Pool) -> dict[str, Any]:
    slots = fleet.pool_slots(config, pool)
    shape = pool.accelerator
    zones: dict[str, Any] = {
        zone: {
            "vms": [slot.name for slot in slots if slot.zone == zone],
            "hosts": count * shape.hosts,
            "chips": count * shape.chips,
        }
        for zone, count in pool.zones.items()
    }
    return {
        "accelerator": shape.name,
        "capacity": str(pool.capacity),
        "label": pool.label,
        "trust": pool.trust.value,
        "zones": zones,
        "vms": [slot.name for slot in slots],
        "hosts": len(slots) * shape.hosts,
        "chips": len(slots) * shape.chips,
    }
