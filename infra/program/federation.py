"""Which jobs of GitHub may act as which service account of a stack."""

from __future__ import annotations

from collections.abc import Sequence

from infra.components.federation import FederatedAccount, FederationArgs
from infra.model import federation, names
from infra.model.schema import GitHub, StackConfig


def federation_args(config: StackConfig, github: GitHub, sources: Sequence[str]) -> FederationArgs:
    """sources: repositories whose workflow of images acts here, sorted; empty where the stack builds none."""
    accounts = [
        ("deployer", federation.DEPLOYER, federation.deployment_attributes(github)),
        ("previewer", federation.PREVIEWER, federation.preview_attributes(github)),
    ]
    if sources:
        key, purpose = federation.IMAGE_BUILDER
        account = names.role_account_id(config.stack, key), purpose
        accounts.append((key, account, federation.image_builder_attributes(sources)))
    accounts += [
        (each.key, (each.account_id, each.purpose), each.attributes) for each in federation.workflow_accounts(config)
    ]
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
