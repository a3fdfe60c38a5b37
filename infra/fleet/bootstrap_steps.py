"""What a project is to have before its first deploy, what it has, and the steps between, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from infra.model import federation
from infra.model.json_shape import JsonShape

ACCOUNT_ID, ACCOUNT_PURPOSE = federation.DEPLOYER
KEY_RING: Final = "tidepool"
KEY: Final = "pulumi-secrets"


class BootstrapTarget(StrEnum):
    """Whose IAM policy a grant stands in."""

    PROJECT = "project"
    BUCKET = "bucket"
    KEY = "key"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What bootstrap shall bring about in one project.

    location: of the state bucket and the key ring, a region or multi-region such as `us-central1` or `us`.
    fleet_buckets: buckets that the program makes; the deploying account administers these and no other.
    impersonators: IAM members (`user:EMAIL`, `principalSet://...`) that may act as the deploying account.
    """

    project: str
    location: str
    bucket: str
    fleet_buckets: tuple[str, ...]
    impersonators: tuple[str, ...] = ()

    @property
    def deployer(self) -> str:
        """The deploying account's address."""
        return f"{ACCOUNT_ID}@{self.project}.iam.gserviceaccount.com"

    @property
    def key_ring(self) -> str:
        return f"projects/{self.project}/locations/{self.location}/keyRings/{KEY_RING}"

    @property
    def key(self) -> str:
        return f"{self.key_ring}/cryptoKeys/{KEY}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One role of one member in one policy. condition: a CEL expression, empty for none."""

    role: str
    member: str
    why: str
    condition: str = ""

    def binding(self) -> dict[str, Any]:
        """The policy binding that gives exactly this."""
        body: dict[str, Any] = {"role": self.role, "members": [self.member]}
        if self.condition:
            body["condition"] = {"title": "only Tidepool's own buckets", "expression": self.condition}
        return body

    def stands_in(self, policy: Mapping[str, Any]) -> bool:
        return any(
            binding["role"] == self.role
            and self.member in binding.get("members", ())
            and (binding.get("condition") or {}).get("expression", "") == self.condition
            for binding in policy.get("bindings") or ()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What is there. None, or an empty policy, is what does not exist or cannot yet be asked for."""

    enabled: frozenset[str] = frozenset()
    bucket: Mapping[str, Any] | None = None
    key_ring: bool = False
    key: bool = False
    account: bool = False
    policies: Mapping[BootstrapTarget, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EnableApis:
    apis: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MakeBucket:
    pass


@dataclass(frozen=True, slots=True)
class MendBucket:
    """Bring an existing bucket to these settings."""

    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MakeKeyRing:
    pass


@dataclass(frozen=True, slots=True)
class MakeKey:
    pass


@dataclass(frozen=True, slots=True)
class MakeAccount:
    pass


@dataclass(frozen=True, slots=True)
class AddGrants:
    """Add grants to one policy, in one write."""

    target: BootstrapTarget
    grants: tuple[Grant, ...]


Action = EnableApis | MakeBucket | MendBucket | MakeKeyRing | MakeKey | MakeAccount | AddGrants


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapStep(JsonShape):
    """One line of the plan: what it is about, why, and what must be done; no action where it stands already."""

    JSON = ("what", "why", "made")

    what: str
    why: str
    action: Action | None = None

    @property
    def made(self) -> bool:
        return self.action is not None
