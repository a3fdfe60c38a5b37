"""Stacks, edits and resources for tests of rules: small and right, to be made wrong in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from infra.model.schema import StackConfig
from infra.rules.finding import Finding
from infra.rules.rule import Edit
from infra.rules.view import ResourceView
from tests.model.given import parse, pool, stack_text

TODAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
FORK = "tidepool-ci-pool-forks@my-lab.iam.gserviceaccount.com"
MEMBER = "tidepool-ci-pool-tpu-ci@my-lab.iam.gserviceaccount.com"
LABELS = {"tidepool-owner": "lab", "tidepool-stack": "ci"}

VM = "gcp:tpu/v2Vm:V2Vm"
BUCKET = "gcp:storage/bucket:Bucket"
SERVICE_GRANT = "gcp:cloudrunv2/serviceIamMember:ServiceIamMember"

POOLS = pool(name="tpu-ci", zones="{us-west4-a: 2}") + pool(name="forks", trust="fork")


def config(pools: str = POOLS, **sections: str) -> StackConfig:
    """The ci stack of my-lab with a member pool, tpu-ci, and a fork pool, forks."""
    return parse(stack_text(pools=pools, **sections), stack="ci")


def edit(after: StackConfig | None = None, **known: Any) -> Edit:
    """An edit of today that changes something."""
    return replace(Edit(after=after or config(), today=TODAY, changes=True), **known)


def resource(kind: str, inputs: Mapping[str, Any], *, name: str = "it", protect: bool = False) -> ResourceView:
    return ResourceView(type=kind, name=name, inputs=inputs, protect=protect)


def vm(pool: str = "tpu-ci", trust: str = "member", account: str = MEMBER, **inputs: Any) -> ResourceView:
    """A VM that is right; inputs replace or extend its own."""
    labels = LABELS | {"tidepool-pool": pool, "tidepool-trust": trust}
    right = {
        "name": f"{pool}-us-west4-a-0",
        "labels": labels,
        "metadata": {"enable-oslogin": "TRUE"},
        "networkConfig": {"enableExternalIps": trust != "fork"},
        "serviceAccount": {"email": account},
    }
    return resource(VM, right | inputs, name=f"{pool}-us-west4-a-0")


_IMAGE = f"us-central1-docker.pkg.dev/my-lab/marin/deep/controller@sha256:{'0' * 64}"
SERVED = {
    "runners": "app: {id: 1, installation: 2, key_secret: app-key}\n",
    "secrets": "- {name: app-key, readers: [broker]}\n",
    "registries": "regions: [us-central1]\nrepositories: [{name: marin}]\n",
    "controller": f"region: us-central1\nimage: {_IMAGE}\n",
}
"""Sections of a stack that declares its broker."""


def rules(found: tuple[Finding, ...]) -> list[str]:
    return [finding.rule for finding in found]
