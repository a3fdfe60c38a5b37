"""Service accounts: one for every pool, one each for the controller, the broker, image builds and what starts these.

Owns the accounts, and which workflows may give them to VMs. Owns nothing that they may do: each grant stands beside the
one resource it opens. No account here has a role on the project, and no key is ever made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_gcp as gcp

from infra.model.grants import ACTS_AS


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A service account to be.

    key: how the program speaks of it: `controller`, `broker`, `clock`, `builder`, `starter` or `pool/NAME`.
    account_id: the part of its address before the @.
    purpose: what it is for, as Google's console shows it.
    lent_to: members that may give it to VMs which they make, by the name that says who.
    shared: whether another stack declares it too. Whichever comes first makes it, and neither deletes it.
    """

    key: str
    account_id: str
    purpose: str
    lent_to: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitiesArgs:
    """The accounts to make, each key and each account id once."""

    project: str
    identities: tuple[Identity, ...]


class Identities(pulumi.ComponentResource):
    """Service accounts by key."""

    accounts: Mapping[str, gcp.serviceaccount.Account]
    emails: pulumi.Output[Mapping[str, str]]

    def __init__(self, name: str, args: IdentitiesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:identities:Identities", name, None, opts)
        self.accounts = {
            identity.key: gcp.serviceaccount.Account(
                identity.account_id,
                project=args.project,
                account_id=identity.account_id,
                display_name=identity.account_id,
                description=identity.purpose,
                create_ignore_already_exists=identity.shared or None,
                opts=pulumi.ResourceOptions(parent=self, retain_on_delete=identity.shared or None),
            )
            for identity in args.identities
        }
        for identity in args.identities:
            for who, member in identity.lent_to.items():
                gcp.serviceaccount.IAMMember(
                    f"{who}-acts-as-{identity.account_id}",
                    service_account_id=self.accounts[identity.key].name,
                    role=ACTS_AS,
                    member=member,
                    opts=pulumi.ResourceOptions(parent=self),
                )
        self.emails = pulumi.Output.all(**{key: account.email for key, account in self.accounts.items()})
        self.register_outputs({"emails": self.emails})

    def member(self, key: str) -> pulumi.Output[str]:
        """The IAM member of one account; whoever uses it waits until the account exists."""
        return self.accounts[key].member
