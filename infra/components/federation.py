"""Who of GitHub Actions may act here: a workload identity pool, its provider, and the members of their accounts.

Owns the way in and the accounts that it leads to. Gives them no role on anything: an account that deploys needs some on
the project, which only its owner gives (`./tidepool bootstrap`). No key is ever made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

ROLE = "roles/iam.workloadIdentityUser"


@dataclass(frozen=True, slots=True, kw_only=True)
class FederatedAccount:
    """An account that federated identities may act as.

    attributes: ends of their members below the pool, such as `attribute.repository/OWNER/NAME`.
    """

    key: str
    account_id: str
    purpose: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationArgs:
    """mapping: Google's attributes from the token's claims. condition: what every token must say."""

    project: str
    pool_id: str
    provider_id: str
    issuer: str
    mapping: Mapping[str, str]
    condition: str
    accounts: tuple[FederatedAccount, ...]


class Federation(pulumi.ComponentResource):
    """The provider's full name, by which a workflow asks to be let in, and the accounts' addresses by key."""

    provider: pulumi.Output[str]
    emails: pulumi.Output[Mapping[str, str]]

    def __init__(self, name: str, args: FederationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:federation:Federation", name, None, opts)
        # A deleted pool or provider keeps its id for thirty days, in which it can be neither used nor made again.
        kept = pulumi.ResourceOptions(parent=self, protect=True, retain_on_delete=True)
        pool = gcp.iam.WorkloadIdentityPool(
            args.pool_id,
            project=args.project,
            workload_identity_pool_id=args.pool_id,
            display_name=args.pool_id,
            description="Identities of GitHub Actions",
            opts=kept,
        )
        provider = gcp.iam.WorkloadIdentityPoolProvider(
            f"{args.pool_id}-{args.provider_id}",
            project=args.project,
            workload_identity_pool_id=pool.workload_identity_pool_id,
            workload_identity_pool_provider_id=args.provider_id,
            display_name=args.provider_id,
            attribute_mapping=dict(args.mapping),
            attribute_condition=args.condition,
            oidc=gcp.iam.WorkloadIdentityPoolProviderOidcArgs(issuer_uri=args.issuer),
            opts=kept,
        )
        accounts = {federated.key: self._account(args.project, pool, federated) for federated in args.accounts}
        self._members = {key: account.member for key, account in accounts.items()}
        self.provider = provider.name
        self.emails = pulumi.Output.all(**{key: account.email for key, account in accounts.items()})
        self.register_outputs({"provider": self.provider, "emails": self.emails})

    def member(self, key: str) -> pulumi.Output[str]:
        """The IAM member of one account; whoever uses it waits until the account exists."""
        return self._members[key]

    def _account(
        self, project: str, pool: gcp.iam.WorkloadIdentityPool, federated: FederatedAccount
    ) -> gcp.serviceaccount.Account:
        account = gcp.serviceaccount.Account(
            federated.account_id,
            project=project,
            account_id=federated.account_id,
            display_name=federated.account_id,
            description=federated.purpose,
            # Bootstrap makes the deploying one first, since it makes this; deleting it would end the run that does.
            create_ignore_already_exists=True,
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=True),
        )
        for attribute in federated.attributes:
            gcp.serviceaccount.IAMMember(
                f"{federated.key}-for-{attribute}",
                service_account_id=account.name,
                role=ROLE,
                # The pool's name has the project's number, the only form that members are matched by.
                member=pulumi.Output.concat("principalSet://iam.googleapis.com/", pool.name, "/", attribute),
                opts=pulumi.ResourceOptions(parent=self),
            )
        return account
