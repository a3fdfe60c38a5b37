"""The stack's own service accounts, and the secrets that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from infra.components.identities import Identities, IdentitiesArgs, Identity
from infra.components.secrets import SecretContainer, SecretsArgs
from infra.model import federation, names
from infra.model.schema import StackConfig
from infra.program.shared import CLOCK, NODES, grantee, labels, pool_key


def identities_args(
    config: StackConfig, siblings: Sequence[StackConfig], workflows: Mapping[str, pulumi.Input[str]], *, serving: bool
) -> IdentitiesArgs:
    """The stack's own accounts.

    workflows: members that they act as, by key. serving: whether the stack declares its broker and controller.
    """
    purposes = {"broker": "Registers runners with GitHub", "controller": "Keeps the fleet as its manifest says"}
    if config.registries:
        purposes["builder"] = "Builds and pushes images"
    if config.builds:
        purposes["starter"] = "Hands messages that start a build to Cloud Build"
    if config.cluster:
        purposes[NODES] = "Nodes of the cluster: logs, metrics and images"
    if serving:
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
                grantee(maker.key): workflows[maker.key]
                for maker in federation.makers_as(pool.name, config.project, (config, *siblings))
            },
        )
        for pool in config.pools
    )
    return IdentitiesArgs(project=config.project, identities=roles + pools)


def lent_args(config: StackConfig, siblings: Sequence[StackConfig]) -> IdentitiesArgs:
    """Accounts of other stacks' workflows that make VMs as pools of this one, or keep results in its bucket.

    Google refuses a grant to an account that does not exist, and nothing says that the other stack is brought up first.
    """
    makers = (maker for pool in config.pools for maker in federation.makers_as(pool.name, config.project, siblings))
    writers = (writer for each in siblings for writer in federation.result_writers(each)) if config.results else ()
    lent = {
        each.key: Identity(key=each.key, account_id=each.account_id, purpose=each.purpose, shared=True)
        for each in (*makers, *writers)
        if each.project == config.project and each.stack != config.stack
    }
    return IdentitiesArgs(project=config.project, identities=tuple(lent.values()))


def secrets_args(config: StackConfig, identities: Identities) -> SecretsArgs:
    """Teams read as Google accounts that the stack names and does not make."""
    declared = config.queues.teams if config.queues else ()
    teams = {f"team/{team.name}": f"serviceAccount:{team.account}" for team in declared if team.account}
    return SecretsArgs(
        project=config.project,
        labels=labels(config),
        secrets=[
            SecretContainer(
                secret_id=secret.name,
                readers={grantee(key): teams.get(key) or identities.member(key) for key in secret.readers},
            )
            for secret in config.secrets
        ],
    )
