"""How Cloud Build hears of pushes: a connection to GitHub for each source repository, and the repository in it.

Owns both. Holds no token: a connection names the version of a secret. Leaves which repositories can be connected to
`infra.model.images.stack_rules` and what a push starts to `builds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_gcp as gcp

READER: Final = "roles/cloudbuild.readTokenAccessor"
"""May ask a connection for tokens that read its repositories. Source, read 2026-11-21:
https://docs.cloud.google.com/build/docs/iam-roles-permissions"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSource:
    """A repository at GitHub, `owner/name`, and what Cloud Build calls its connection and it.

    installation: number of Cloud Build's app there. token_version: the full name of a secret's version.
    private: whether builds need a token of the connection to read it.
    """

    repository: str
    connection_name: str
    repository_name: str
    installation: int
    token_version: str
    private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSourcesArgs:
    """The sources of a stack, each repository once. region: where the triggers are that hear of them.

    builder: the IAM member that builds run as.
    """

    project: str
    region: str
    builder: pulumi.Input[str]
    sources: tuple[BuildSource, ...]


class BuildSources(pulumi.ComponentResource):
    """Repositories by `owner/name`.

    ids: their full names at Cloud Build. connections: the name of each one's connection, the stage at which it is, and
    where a person goes on with one that is not complete.
    """

    ids: Mapping[str, pulumi.Output[str]]
    connections: pulumi.Output[Mapping[str, Any]]

    def __init__(self, name: str, args: BuildSourcesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:build_sources:BuildSources", name, None, opts)
        ids: dict[str, pulumi.Output[str]] = {}
        said: dict[str, pulumi.Output[Any]] = {}
        for source in args.sources:
            connection = gcp.cloudbuildv2.Connection(
                source.connection_name,
                project=args.project,
                location=args.region,
                name=source.connection_name,
                github_config=gcp.cloudbuildv2.ConnectionGithubConfigArgs(
                    app_installation_id=source.installation,
                    authorizer_credential=gcp.cloudbuildv2.ConnectionGithubConfigAuthorizerCredentialArgs(
                        oauth_token_secret_version=source.token_version
                    ),
                ),
                opts=pulumi.ResourceOptions(parent=self),
            )
            ids[source.repository] = gcp.cloudbuildv2.Repository(
                f"{source.connection_name}/{source.repository_name}",
                project=args.project,
                location=args.region,
                name=source.repository_name,
                # An output, so that the repository is made after its connection and goes before it.
                parent_connection=connection.id,
                remote_uri=f"https://github.com/{source.repository}.git",
                opts=pulumi.ResourceOptions(parent=self),
            ).id
            if source.private:
                gcp.cloudbuildv2.ConnectionIAMMember(
                    f"builder-reads-{source.connection_name}",
                    project=args.project,
                    location=args.region,
                    name=connection.name,
                    role=READER,
                    member=args.builder,
                    opts=pulumi.ResourceOptions(parent=self),
                )
            said[source.repository] = pulumi.Output.all(
                name=connection.name, states=connection.installation_states
            ).apply(_said)
        self.ids = ids
        self.connections = pulumi.Output.all(**said)
        self.register_outputs({"connections": self.connections})


def _said(known: Mapping[str, Any]) -> dict[str, str]:
    states = known["states"] or [{}]
    first: Any = states[0]
    return {
        "name": known["name"],
        "stage": _text(first, "stage"),
        "authorise_at": _text(first, "action_uri"),
    }


def _text(state: Any, key: str) -> str:
    value = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return value or ""
