"""Which components a stack has, joined by their outputs.

Owns the way from one StackConfig to resources and stack outputs. Leaves what is declared to `infra.model`, and how one
thing is made to `infra.components`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime import config as pulumi_config

from infra.components.bucket import FleetBucket
from infra.components.federation import FederatedAccount, Federation, FederationArgs
from infra.components.fleet_records import FleetRecords
from infra.components.identities import Identities, IdentitiesArgs, Identity
from infra.components.network import Network, NetworkArgs, Subnet
from infra.components.registry_grants import Access
from infra.components.runner_pool import BetweenHosts, RunnerPool, RunnerPoolArgs, RunnerVm
from infra.components.secrets import SecretContainer, Secrets, SecretsArgs
from infra.components.services import Services, ServicesArgs
from infra.fleet.bundle import STUB
from infra.model import federation, fleet, manifest, names
from infra.model.catalogue import region_of
from infra.model.errors import ConfigError
from infra.model.network import subnet_cidr
from infra.model.node import node_spec
from infra.model.schema import GitHub, Pool, StackConfig
from infra.model.stack import load_stack, siblings, stack_from_pulumi
from infra.program_bucket import fleet_bucket
from infra.program_builds import BuildPlan, build_plan, declare_builds, unheard
from infra.program_records import declare_records
from infra.program_registries import Reach, registries
from infra.program_serving import CLOCK, broker_url, declare_serving, is_served, unnotified, unserved
from infra.program_shared import grantee, labels, pool_key

ROOT = Path(__file__).resolve().parent.parent


def run(root: Path = ROOT) -> None:
    """Declare the stack that the Pulumi runtime is running. What a person can mend is said without a traceback.

    root: the checkout whose other stack files the rules between stacks look at.
    """
    try:
        config = _config(root)
        elsewhere = config.registry_stack
        registry = load_stack(root, elsewhere.rpartition("/")[2]) if elsewhere else None
        plan = build_plan(root, config)
    except ConfigError as error:
        raise pulumi.RunError(str(error)) from None
    declare(config, registry=registry, plan=plan, siblings=siblings(root, config.stack))


def _config(root: Path) -> StackConfig:
    stack = pulumi.get_stack()
    values = {**pulumi_config.get_config_env(), **pulumi_config.CONFIG.get()}
    return stack_from_pulumi(values, project=pulumi.get_project(), stack=stack, siblings=siblings(root, stack))


def declare(
    config: StackConfig,
    *,
    registry: StackConfig | None = None,
    plan: BuildPlan | None = None,
    siblings: Sequence[StackConfig] = (),
) -> None:
    """Every resource and every output of one stack.

    registry: the stack whose repositories this one uses (`registry_stack`), None where they are its own.
    plan: the images that it builds (`tidepool:builds`), None where it builds none.
    siblings: the checkout's other stacks, whose VMs draw on the same limits.
    """
    serving = is_served(config)
    services = Services("services", ServicesArgs(project=config.project, builds=plan is not None, serving=serving))
    ready = pulumi.ResourceOptions(depends_on=[services])
    network = Network("network", _network(config), ready)
    github: Federation | None = None
    if config.github:
        github = Federation("federation", _federation(config, config.github, plan), ready)
        pulumi.export("github", {"provider": github.provider, "accounts": github.emails})
    accounts = _identities(config, siblings, github)
    identities = Identities("identities", IdentitiesArgs(project=config.project, identities=accounts), ready)
    outside = github.member(federation.IMAGE_BUILDER[0]) if github and plan and plan.workflow_sources else None
    makers = {each.key: github.member(each.key) for each in federation.run_makers(config)} if github else {}
    bucket = FleetBucket("bucket", fleet_bucket(config, identities, outside, makers), ready)
    broker = broker_url(config, bucket.project_number) if serving else None
    records = declare_records(config, bucket.bucket, broker, registry=registry, siblings=siblings)
    for told in filter(None, (unserved(config), unnotified(config), unheard(plan) if plan else "")):
        pulumi.warn(told)
    secrets = Secrets("secrets", _secrets(config, identities), ready) if config.secrets else None
    if broker is not None:
        needed = [bucket, *([secrets] if secrets else [])]
        pulumi.export("serving", declare_serving(config, broker, identities.accounts, ready, needed))
    if plan is not None:
        tokens = pulumi.ResourceOptions(depends_on=[services, *([secrets] if secrets else [])])
        pulumi.export("builds", declare_builds(plan, identities.accounts, outside, ready, tokens))
    for pool in config.pools:
        RunnerPool(pool.name, _pool(config, pool, network, identities, records), ready)

    pulumi.export("pools", {pool.name: _pool_output(config, pool) for pool in config.pools})
    pulumi.export("registries", registries(config, registry, _reaches(config, identities, outside), ready))
    pulumi.export("identities", identities.emails)
    pulumi.export(
        "manifest",
        {"bucket": bucket.bucket, "object": names.manifest_object(config.stack), "version": manifest.VERSION},
    )


def _network(config: StackConfig) -> NetworkArgs:
    """A region is in use where a pool may have VMs or a repository stands: taking a zone out moves no network."""
    pool_regions = {region_of(zone) for pool in config.pools for zone in pool.reach}
    inward = {region_of(zone) for pool in config.pools if not pool.external_ip for zone in pool.reach}
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


def _identities(
    config: StackConfig, siblings: Sequence[StackConfig], github: Federation | None
) -> tuple[Identity, ...]:
    """The stack's own accounts. What another stack lets in to make VMs as a pool of this one is made by that stack."""
    purposes = {"broker": "Registers runners with GitHub", "controller": "Keeps the fleet as its manifest says"}
    if config.registries:
        purposes["builder"] = "Builds and pushes images"
    if config.builds:
        purposes["starter"] = "Hands messages that start a build to Cloud Build"
    if is_served(config):
        purposes[CLOCK] = "Runs the controller at its times"
    roles = tuple(
        Identity(key=role, account_id=names.role_account_id(config.stack, role), purpose=purpose)
        for role, purpose in purposes.items()
    )
    pools = tuple(
        Identity(
            key=pool_key(pool),
            account_id=names.pool_account_id(config.stack, pool.name),
            purpose=f"VMs of pool {pool.name} (trust {pool.trust})",
            lent_to={
                grantee(maker.key): github.member(maker.key)
                if github and maker.stack == config.stack
                else f"serviceAccount:{maker.email}"
                for maker in federation.makers_as(pool.name, config.project, (config, *siblings))
            },
        )
        for pool in config.pools
    )
    return roles + pools


def _secrets(config: StackConfig, identities: Identities) -> SecretsArgs:
    return SecretsArgs(
        project=config.project,
        labels=labels(config),
        secrets=[
            SecretContainer(
                secret_id=secret.name, readers={grantee(key): identities.member(key) for key in secret.readers}
            )
            for secret in config.secrets
        ],
    )


def _federation(config: StackConfig, github: GitHub, plan: BuildPlan | None) -> FederationArgs:
    sources = plan.workflow_sources if plan else ()
    accounts = [
        ("deployer", federation.DEPLOYER, federation.deployment_attributes(github)),
        ("previewer", federation.PREVIEWER, federation.preview_attributes(github)),
    ]
    if sources:
        key, purpose = federation.IMAGE_BUILDER
        account = names.role_account_id(config.stack, key), purpose
        accounts.append((key, account, federation.image_builder_attributes(sources)))
    accounts += [(each.key, (each.account_id, each.purpose), each.attributes) for each in federation.run_makers(config)]
    return FederationArgs(
        project=config.project,
        pool_id=names.federation_pool_id(config.stack),
        provider_id=federation.PROVIDER_ID,
        issuer=federation.ISSUER,
        mapping=federation.MAPPING,
        condition=federation.condition(github, sources),
        accounts=tuple(
            FederatedAccount(key=key, account_id=account_id, purpose=purpose, attributes=attributes)
            for key, (account_id, purpose), attributes in accounts
        ),
    )


def _pool(
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
                after=(account, *network.ways_out[slot.region], *records.objects),
            )
            for slot in fleet.pool_slots(config, pool)
        ),
    )


def _pool_output(config: StackConfig, pool: Pool) -> dict[str, Any]:
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


def _reaches(config: StackConfig, identities: Identities, image_builder: pulumi.Input[str] | None) -> list[Reach]:
    """Pools read; the builder of the stack that owns a repository writes it, and GitHub's jobs see what is there."""
    found = [
        Reach(key=key, member=identities.member(key), access=Access.READS, mirrors=True)
        for key in map(pool_key, config.pools)
    ]
    if config.registries:
        found.append(Reach(key="builder", member=identities.member("builder"), access=Access.WRITES, mirrors=True))
    if image_builder is not None:
        key = federation.IMAGE_BUILDER[0]
        found.append(Reach(key=key, member=image_builder, access=Access.READS, mirrors=False))
    return found
