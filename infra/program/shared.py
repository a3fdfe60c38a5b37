"""What every part of the program says alike: the labels of a stack, and identities in the names of resources."""

from __future__ import annotations

from infra.model.schema import Pool, StackConfig

CLOCK = "clock"
"""The key of the account that runs the controller."""

NODES = "nodes"
"""The key of the account of a cluster's nodes."""


def labels(config: StackConfig) -> dict[str, str]:
    """The labels that say whose a resource is and which stack made it."""
    return {"tidepool-managed": "true", "tidepool-stack": config.stack, "tidepool-owner": config.owner}


def pool_key(pool: Pool) -> str:
    """How secrets name a pool among their readers."""
    return f"pool/{pool.name}"


def grantee(key: str) -> str:
    """An identity's key as it stands in the name of a grant."""
    return key.replace("/", "-")
