"""Which subnetworks a stack has: one for each region that a pool or a run may use or a repository stands in."""

from __future__ import annotations

from infra.components.network import NetworkArgs, Subnet
from infra.model import names
from infra.model.catalogue import region_of
from infra.model.facts import subnet_cidr
from infra.model.schema import StackConfig


def network_args(config: StackConfig) -> NetworkArgs:
    """A region is in use where a pool may have VMs or a repository stands: taking a zone out moves no network."""
    pool_regions = {region_of(zone) for pool in config.pools for zone in pool.reach}
    inward = {region_of(zone) for pool in config.pools if not pool.external_ip for zone in pool.reach}
    if config.runs is not None:
        run_regions = {region_of(zone) for zone in config.runs.zones}
        pool_regions |= run_regions
        inward |= set() if all(config.pool(pool).external_ip for pool in config.runs.pools) else run_regions
    registry_regions = set(config.registries.regions) if config.registries else set()
    return NetworkArgs(
        project=config.project,
        network=names.network_name(config.stack),
        subnets=tuple(
            Subnet(
                region=region,
                name=names.subnetwork_name(config.stack, region),
                cidr=subnet_cidr(region),
                nat=region in inward,
            )
            for region in sorted(pool_regions | registry_regions)
        ),
    )
