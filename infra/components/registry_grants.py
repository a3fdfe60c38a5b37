"""Who may read or write which image repository, of this stack or of the one whose repositories it uses.

Owns additive grants on single repositories. Makes no repository: those are `registries`, or another stack's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pulumi
import pulumi_gcp as gcp


class Access(StrEnum):
    """What a grant allows; the value stands in its resource's name."""

    READS = "reads"
    WRITES = "writes"


_ROLES = {
    Access.READS: "roles/artifactregistry.reader",
    Access.WRITES: "roles/artifactregistry.writer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryGrant:
    """One identity's access to one repository.

    who: says who, in the grant's resource name. member: its IAM member (`serviceAccount:EMAIL`).
    repository: the repository's name. repository_id: the same as an output, so that the grant waits for a repository
    that is made in the same run; the name where another stack made it.
    """

    who: str
    member: pulumi.Input[str]
    access: Access
    location: str
    repository: str
    repository_id: pulumi.Input[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryGrantsArgs:
    """project: the one that the repositories are in."""

    project: str
    grants: tuple[RegistryGrant, ...]


class RegistryGrants(pulumi.ComponentResource):
    """Readers and writers of repositories; `count` says how many grants there are."""

    count: int

    def __init__(self, name: str, args: RegistryGrantsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:registry_grants:RegistryGrants", name, None, opts)
        for grant in args.grants:
            gcp.artifactregistry.RepositoryIamMember(
                f"{grant.who}-{grant.access}-{grant.location}/{grant.repository}",
                project=args.project,
                # Not looked up from the repository: without it the provider's default region would be asked.
                location=grant.location,
                repository=grant.repository_id,
                role=_ROLES[grant.access],
                member=grant.member,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.count = len(args.grants)
        self.register_outputs({"count": self.count})
