"""Which components a stack has, joined by their outputs.

Owns the way from one StackConfig to resources and stack outputs. Leaves what is declared to `infra.model`, and how one
thing is made to `infra.components`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime import config as pulumi_config

from infra.components.bucket import FleetBucket, FleetBucketArgs, PrefixReader
from infra.components.federation import FederatedAccount, Federation, FederationArgs
from infra.components.identities import Identities, IdentitiesArgs, Identity
from infra.components.network import Network, NetworkArgs, Subnet
from infra.components.registries import Registries, RegistriesArgs, Registry
from infra.components.registry_grants import Access, RegistryGrant, RegistryGrants, RegistryGrantsArgs
from infra.components.runner_pool import RunnerPool, RunnerPoolArgs, RunnerVm
from infra.components.secrets import SecretContainer, Secrets, SecretsArgs
from infra.components.services import Services, ServicesArgs
from infra.model import federation, fleet, manifest, names
from infra.model.catalogue import region_of
from infra.model.errors import ConfigError
from infra.model.network import subnet_cidr
from infra.model.node import node_spec
from infra.model.schema import GitHub, Pool, StackConfig
from infra.model.stack import load_stack, siblings, stack_from_pulumi

ROOT = Path(__file__).resolve().parent.parent
STUB = Path(__file__).resolve().parent / "fleet" / "runner" / "stub.sh"


def run(root: Path = ROOT) -> None:
    """Declare the stack that the Pulumi runtime is running. What a person can mend is said without a traceback.

    root: the checkout whose other stack files the rules between stacks look at.
    """
    try:
        config = _config(root)
        elsewhere = config.registry_stack
        registry = load_stack(root, elsewhere.rpartition("/")[2]) if elsewhere else None
    except ConfigError as error:
        raise pulumi.RunError(str(error)) from None
    declare(config, registry=registry)


def _config(root: Path) -> StackConfig:
    stack = pulumi.get_stack()
    values = {**pulumi_config.get_config_env(), **pulumi_config.CONFIG.get()}
    return stack_from_pulumi(values, project=pulumi.get_project(), stack=stack, siblings=siblings(root, stack))


def declare(config: StackConfig, *, registry: StackConfig | None = None) -> None:
    """Every resource and every output of one stack.

    registry: the stack whose repositories this one uses (`registry_stack`), None where they are its own.
    """
    ready = pulumi.ResourceOptions(depends_on=[Services("services", ServicesArgs(project=config.project))])
    network = Network("network", _network(config), ready)
    identities = Identities("identities", IdentitiesArgs(project=config.project, identities=_identities(config)), ready)
    bucket = FleetBucket("bucket", _bucket(config, identities), ready)
    if config.secrets:
        Secrets("secrets", _secrets(config, identities), ready)
    if config.github:
        github = Federation("federation", _federation(config, config.github), ready)
        pulumi.export("github", {"provider": github.provider, "accounts": github.emails})
    for pool in config.pools:
        RunnerPool(pool.name, _pool(config, pool, network, identities), ready)

    pulumi.export("pools", {pool.name: _pool_output(config, pool) for pool in config.pools})
    pulumi.export("registries", _images(config, registry, identities, ready))
    pulumi.export("identities", identities.emails)
    pulumi.export(
        "manifest",
        {"bucket": bucket.bucket, "object": names.manifest_object(config.stack), "version": manifest.VERSION},
    )


def _labels(config: StackConfig) -> dict[str, str]:
    return {"tidepool-managed": "true", "tidepool-stack": config.stack, "tidepool-owner": config.owner}


def _network(config: StackConfig) -> NetworkArgs:
    """A region is in use where a pool has a zone or a repository stands: taking a zone from a pool moves no network."""
    pool_regions = {region_of(zone) for pool in config.pools for zone in pool.zones}
    inward = {region_of(zone) for pool in config.pools if not pool.external_ip for zone in pool.zones}
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


def _identities(config: StackConfig) -> tuple[Identity, ...]:
    purposes = {"broker": "Registers runners with GitHub", "controller": "Keeps the fleet as its manifest says"}
    if config.registries:
        purposes["builder"] = "Builds and pushes images"
    roles = tuple(
        Identity(key=role, account_id=names.role_account_id(config.stack, role), purpose=purpose)
        for role, purpose in purposes.items()
    )
    pools = tuple(
        Identity(
            key=_pool_key(pool),
            account_id=names.pool_account_id(config.stack, pool.name),
            purpose=f"VMs of pool {pool.name} (trust {pool.trust})",
        )
        for pool in config.pools
    )
    return roles + pools


def _pool_key(pool: Pool) -> str:
    """How secrets name a pool among their readers."""
    return f"pool/{pool.name}"


def _grantee(key: str) -> str:
    """An identity's key as it stands in the name of a grant."""
    return key.replace("/", "-")


def _bucket(config: StackConfig, identities: Identities) -> FleetBucketArgs:
    """Every pool reads the start-up bundle, forks' too: there is no secret in it. Manifests are not theirs."""
    prefixes = {_pool_key(pool): names.RUNNER_PREFIX for pool in config.pools}
    prefixes |= {"controller": names.MANIFEST_PREFIX, "broker": names.MANIFEST_PREFIX}
    return FleetBucketArgs(
        project=config.project,
        bucket=config.bucket.name,
        location=config.bucket.location,
        labels=_labels(config),
        readers=[
            PrefixReader(name=_grantee(key), member=identities.member(key), prefix=prefix)
            for key, prefix in prefixes.items()
        ],
    )


def _secrets(config: StackConfig, identities: Identities) -> SecretsArgs:
    return SecretsArgs(
        project=config.project,
        labels=_labels(config),
        secrets=[
            SecretContainer(
                secret_id=secret.name, readers={_grantee(key): identities.member(key) for key in secret.readers}
            )
            for secret in config.secrets
        ],
    )


def _federation(config: StackConfig, github: GitHub) -> FederationArgs:
    accounts = (
        ("deployer", federation.DEPLOYER, federation.deployment_attributes(github)),
        ("previewer", federation.PREVIEWER, federation.preview_attributes(github)),
    )
    return FederationArgs(
        project=config.project,
        pool_id=names.federation_pool_id(config.stack),
        provider_id=federation.PROVIDER_ID,
        issuer=federation.ISSUER,
        mapping=federation.MAPPING,
        condition=federation.condition(github),
        accounts=tuple(
            FederatedAccount(key=key, account_id=account_id, purpose=purpose, attributes=attributes)
            for key, (account_id, purpose), attributes in accounts
        ),
    )


def _pool(config: StackConfig, pool: Pool, network: Network, identities: Identities) -> RunnerPoolArgs:
    stub = STUB.read_text(encoding="utf-8")
    account = identities.accounts[_pool_key(pool)]
    return RunnerPoolArgs(
        vms=tuple(
            RunnerVm(
                spec=node_spec(config, slot, startup_script=stub),
                hosts=pool.accelerator.hosts,
                after=(account, *network.ways_out[slot.region]),
            )
            for slot in fleet.pool_slots(config, pool)
        )
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


def _images(
    config: StackConfig, registry: StackConfig | None, identities: Identities, ready: pulumi.ResourceOptions
) -> pulumi.Input[Mapping[str, Any]]:
    """Docker paths by location and repository: this stack's own, or those of the stack that it names.

    Pools read every repository, so that a zone can come or go without a grant. Only the builder of the stack that
    owns a repository writes it, and nobody writes a mirror.
    """
    owner = registry or config
    if not _places(owner):
        return {}
    ids: Mapping[tuple[str, str], pulumi.Input[str]]
    paths: pulumi.Output[Any]
    if registry is None:
        made = Registries("registries", _registries(config), ready)
        ids, paths = made.ids, made.paths
    else:
        ids = {place: place[1] for place in _places(registry)}
        paths = pulumi.StackReference(str(config.registry_stack)).require_output("registries")
    access = [(_pool_key(pool), Access.READS, place) for pool in config.pools for place in _places(owner)]
    if registry is None:
        access += [("builder", Access.WRITES, place) for place in _pushed(config)]
    grants = tuple(
        RegistryGrant(
            who=_grantee(key),
            member=identities.member(key),
            access=kind,
            location=place[0],
            repository=place[1],
            repository_id=ids[place],
        )
        for key, kind, place in access
    )
    RegistryGrants("registry-grants", RegistryGrantsArgs(project=owner.project, grants=grants), ready)
    return paths


def _pushed(config: StackConfig) -> list[tuple[str, str]]:
    """Location and name of every repository that images are pushed to."""
    if config.registries is None:
        return []
    return [
        (region, repository.name)
        for region in config.registries.regions
        for repository in config.registries.repositories
    ]


def _places(config: StackConfig) -> list[tuple[str, str]]:
    """Location and name of every repository, mirrors too."""
    return _pushed(config) + [(location, mirror.name) for mirror in config.mirrors for location in mirror.locations]


def _registries(config: StackConfig) -> RegistriesArgs:
    repositories = [
        Registry(
            location=region,
            repository=repository.name,
            description=repository.description,
            cleanup=repository.cleanup,
        )
        for region in (config.registries.regions if config.registries else ())
        for repository in (config.registries.repositories if config.registries else ())
    ]
    mirrors = [
        Registry(
            location=location,
            repository=mirror.name,
            description=f"Pull-through mirror of {mirror.upstream}",
            cleanup=mirror.cleanup,
            upstream=mirror.upstream,
        )
        for mirror in config.mirrors
        for location in mirror.locations
    ]
    return RegistriesArgs(project=config.project, labels=_labels(config), registries=(*repositories, *mirrors))
