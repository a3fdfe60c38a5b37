"""The image registries of a stack, joined: its repositories and mirrors, and who reads or writes each.

Owns which of them a stack declares or reads of another, and who may do what in each. Leaves how one is made to the
components.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from infra.components.identities import Identities
from infra.components.registries import Registries, RegistriesArgs, Registry
from infra.components.registry_grants import Access, RegistryGrant, RegistryGrants, RegistryGrantsArgs
from infra.model import federation, urns
from infra.model.facts import continent
from infra.model.schema import StackConfig
from infra.program.shared import NODES, grantee, labels, pool_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Who may do what in every repository that a stack uses, so that a region can come or go without a word here.

    key: the identity's, such as `builder` or `pool/NAME`. access: to what is pushed to. mirrors: whether it reads the
    mirrors too, which nobody writes. region: the only one that it pulls from, with the mirrors of its continent;
    None for every one.
    """

    key: str
    member: pulumi.Input[str]
    access: Access
    mirrors: bool
    region: str | None = None


def registries(
    config: StackConfig, registry: StackConfig | None, reaches: Sequence[Reach], ready: pulumi.ResourceOptions
) -> pulumi.Input[Mapping[str, Any]]:
    """Docker paths by location and repository: this stack's own, or those of the stack that it names."""
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
        paths = _paths_of(str(config.registry_stack))
    grants = tuple(
        RegistryGrant(
            who=grantee(reach.key),
            member=reach.member,
            access=access,
            location=place[0],
            repository=place[1],
            repository_id=ids[place],
        )
        for reach in reaches
        for place, access in _reached(owner, reach)
    )
    RegistryGrants("registry-grants", RegistryGrantsArgs(project=owner.project, grants=grants), ready)
    return paths


def reaches(config: StackConfig, identities: Identities, image_builder: pulumi.Input[str] | None) -> list[Reach]:
    """Who uses the repositories.

    Pools read, nodes of a cluster in their own region alone. The builder of the stack that owns a repository writes it,
    and GitHub's jobs see what is there.
    """
    found = [
        Reach(key=key, member=identities.member(key), access=Access.READS, mirrors=True)
        for key in map(pool_key, config.pools)
    ]
    if config.cluster:
        region = config.cluster.region
        member = identities.member(NODES)
        found.append(Reach(key=NODES, member=member, access=Access.READS, mirrors=True, region=region))
    if config.registries:
        found.append(Reach(key="builder", member=identities.member("builder"), access=Access.WRITES, mirrors=True))
    if image_builder is not None:
        key = federation.IMAGE_BUILDER[0]
        found.append(Reach(key=key, member=image_builder, access=Access.READS, mirrors=False))
    return found


def _reached(owner: StackConfig, reach: Reach) -> Iterator[tuple[tuple[str, str], Access]]:
    yield from ((place, reach.access) for place in _pushed(owner) if reach.region in (None, place[0]))
    if reach.mirrors:
        near = reach.region and continent(reach.region)
        yield from ((place, Access.READS) for place in _mirrored(owner) if near in (None, place[0]))


def _paths_of(stack: str) -> pulumi.Output[Any]:
    """The Docker paths that another stack exports. RunError for a stack that was never deployed."""

    def said(paths: Any) -> Any:
        if paths is None:
            raise pulumi.RunError(urns.undeployed(stack))
        return paths

    return pulumi.StackReference(stack).get_output("registries").apply(said)


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
    return _pushed(config) + _mirrored(config)


def _mirrored(config: StackConfig) -> list[tuple[str, str]]:
    return [(location, mirror.name) for mirror in config.mirrors for location in mirror.locations]


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
    return RegistriesArgs(project=config.project, labels=labels(config), registries=(*repositories, *mirrors))
