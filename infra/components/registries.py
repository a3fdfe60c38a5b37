"""Image registries: Docker repositories near the VMs, and pull-through mirrors of public registries.

Owns repositories and how long they keep images; who may read or write them is `registry_grants`. Never deletes one: a
change of format, mode, region or name would replace a repository and lose its images, and protection refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import pulumi
import pulumi_gcp as gcp

from infra.model.names import docker_path
from infra.model.schema import Cleanup, MirrorCleanup

_DOCKER_HUB: Final = "docker-hub"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """One repository in one location.

    upstream: the registry that it mirrors (`docker-hub` or an https URL), None where images are pushed.
    """

    location: str
    repository: str
    description: str
    cleanup: Cleanup | MirrorCleanup | None
    upstream: str | None = None

    @property
    def key(self) -> str:
        """Unlike with a hyphen, no two pairs of location and name lead to one key."""
        return f"{self.location}/{self.repository}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistriesArgs:
    """The repositories of a stack, each location and name once."""

    project: str
    labels: dict[str, str]
    registries: tuple[Registry, ...]


class Registries(pulumi.ComponentResource):
    """Docker repositories by location and name.

    ids: each repository's own id, which is there once the repository is.
    paths: what the names of its images start with.
    """

    ids: Mapping[tuple[str, str], pulumi.Output[str]]
    paths: pulumi.Output[Mapping[str, Mapping[str, str]]]

    def __init__(self, name: str, args: RegistriesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:registries:Registries", name, None, opts)
        self.ids = {
            (registry.location, registry.repository): self._repository(args, registry).repository_id
            for registry in args.registries
        }
        paths: dict[str, dict[str, pulumi.Output[str]]] = {}
        for (location, repository), repository_id in self.ids.items():
            path = repository_id.apply(partial(docker_path, args.project, location))
            paths.setdefault(location, {})[repository] = path
        self.paths = pulumi.Output.all(**{location: pulumi.Output.all(**named) for location, named in paths.items()})
        self.register_outputs({"paths": self.paths})

    def _repository(self, args: RegistriesArgs, registry: Registry) -> gcp.artifactregistry.Repository:
        return gcp.artifactregistry.Repository(
            registry.key,
            project=args.project,
            location=registry.location,
            repository_id=registry.repository,
            description=registry.description,
            format="DOCKER",
            mode="REMOTE_REPOSITORY" if registry.upstream else "STANDARD_REPOSITORY",
            remote_repository_config=_remote(registry.upstream) if registry.upstream else None,
            cleanup_policies=_policies(registry.cleanup),
            # Written although it is the default: policies do nothing while it is true.
            cleanup_policy_dry_run=False,
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, protect=True, retain_on_delete=True),
        )


def _remote(upstream: str) -> gcp.artifactregistry.RepositoryRemoteRepositoryConfigArgs:
    docker = gcp.artifactregistry.RepositoryRemoteRepositoryConfigDockerRepositoryArgs
    custom = gcp.artifactregistry.RepositoryRemoteRepositoryConfigDockerRepositoryCustomRepositoryArgs
    # Without a description: this one, unlike the repository's own, replaces the mirror when it changes.
    return gcp.artifactregistry.RepositoryRemoteRepositoryConfigArgs(
        docker_repository=docker(public_repository="DOCKER_HUB")
        if upstream == _DOCKER_HUB
        else docker(custom_repository=custom(uri=upstream)),
    )


def _policies(cleanup: Cleanup | MirrorCleanup | None) -> list[gcp.artifactregistry.RepositoryCleanupPolicyArgs]:
    """What a repository forgets. The service refuses a condition without a tag state; keeping outweighs deleting."""
    policy = gcp.artifactregistry.RepositoryCleanupPolicyArgs
    condition = gcp.artifactregistry.RepositoryCleanupPolicyConditionArgs
    if cleanup is None:
        return []
    old = condition(tag_state="ANY", older_than=cleanup.delete_older_than)
    policies = [policy(id="delete-old", action="DELETE", condition=old)]
    if not isinstance(cleanup, Cleanup):
        return policies
    if cleanup.keep_newest is not None:
        newest = gcp.artifactregistry.RepositoryCleanupPolicyMostRecentVersionsArgs(keep_count=cleanup.keep_newest)
        policies.append(policy(id="keep-newest", action="KEEP", most_recent_versions=newest))
    if cleanup.keep_tag_prefixes:
        tagged = condition(tag_state="TAGGED", tag_prefixes=list(cleanup.keep_tag_prefixes))
        policies.append(policy(id="keep-tagged", action="KEEP", condition=tagged))
    return policies
