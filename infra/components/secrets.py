"""Containers for secret values and who may read each.

Owns the containers and their readers. Never holds a value: people and the broker add versions, so none reaches state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from infra.model.grants import OPENS


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretContainer:
    """One secret and its readers, by the name that says who and their IAM member."""

    secret_id: str
    readers: Mapping[str, pulumi.Input[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsArgs:
    """The containers of a stack."""

    project: str
    labels: dict[str, str]
    secrets: Sequence[SecretContainer]


class Secrets(pulumi.ComponentResource):
    """Secret Manager containers that no run of this program deletes."""

    paths: pulumi.Output[Mapping[str, str]]

    def __init__(self, name: str, args: SecretsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:secrets:Secrets", name, None, opts)
        made: dict[str, pulumi.Output[str]] = {}
        for container in args.secrets:
            secret = gcp.secretmanager.Secret(
                container.secret_id,
                project=args.project,
                secret_id=container.secret_id,
                labels=args.labels,
                replication=gcp.secretmanager.SecretReplicationArgs(auto=gcp.secretmanager.SecretReplicationAutoArgs()),
                opts=pulumi.ResourceOptions(parent=self, protect=True, retain_on_delete=True),
            )
            for reader, member in container.readers.items():
                gcp.secretmanager.SecretIamMember(
                    f"{reader}-reads-{container.secret_id}",
                    project=args.project,
                    secret_id=secret.secret_id,
                    role=OPENS,
                    member=member,
                    opts=pulumi.ResourceOptions(parent=self),
                )
            # Not the service's `name`: that carries the project's number and differs from the path that is asked for.
            made[container.secret_id] = pulumi.Output.concat("projects/", args.project, "/secrets/", secret.secret_id)
        self.paths = pulumi.Output.all(**made)
        self.register_outputs({"paths": self.paths})
