"""Whose grants are declared: accounts of stacks, what bootstrap and Google give; everybody else is a stranger."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model import federation, names
from infra.model.grants import Guarded, guarded, strange
from tests.model.given import parse, stack_text

GITHUB = """
    repository: a-lab/code
    environments: [apply]
    run_makers:
      - {repository: a-lab/code, pool: tpu-ci, workflows: [night.yaml]}
      - {repository: b-lab/code, pool: other, workflows: [night.yaml]}
"""
REGISTRIES = "{regions: [us-west4], repositories: [{name: marin-ci}]}\n"
CONFIG = parse(stack_text(github=GITHUB, registries=REGISTRIES))
PROJECT, STACK = CONFIG.project, CONFIG.stack
READER, WRITER = "roles/artifactregistry.reader", "roles/artifactregistry.writer"
ACTS, FEDERATED = "roles/iam.serviceAccountTokenCreator", "roles/iam.workloadIdentityUser"
OPENS = "roles/secretmanager.secretAccessor"


def account(role: str, stack: str = STACK) -> str:
    return names.account_email(names.role_account_id(stack, role), PROJECT)


REGISTRY = Guarded("registry", f"projects/{PROJECT}/locations/us-west4/repositories/marin-ci")
BUCKET = Guarded("bucket", CONFIG.bucket.name)
SECRET = Guarded("secret", f"projects/{PROJECT}/secrets/key")
DEPLOYER = Guarded("account", f"projects/{PROJECT}/serviceAccounts/tidepool-deployer@{PROJECT}.iam.gserviceaccount.com")
CONTROLLER = Guarded("account", f"projects/{PROJECT}/serviceAccounts/{account('controller')}")
POOLS = Guarded(
    "account",
    f"projects/{PROJECT}/serviceAccounts/{names.pool_account_id(STACK, 'tpu-ci')}@{PROJECT}.iam.gserviceaccount.com",
)
"""The account of a pool, which workflows of a-lab may give to VMs."""
MAKER, OTHER_MAKER = (each.email for each in federation.run_makers(CONFIG))
LENT = "roles/iam.serviceAccountUser"
POOL = "principalSet://iam.googleapis.com/projects/7/locations/global/workloadIdentityPools"
DEPLOYS = f"{POOL}/{names.federation_pool_id(STACK)}/attribute.deployment/a-lab/code/apply/refs/heads/main"


def found(thing: Guarded, role: str, member: str) -> list[str]:
    policy: dict[str, Any] = {"bindings": [{"role": role, "members": [member]}]}
    return [each.member for each in strange(thing, policy, (CONFIG,))]


@pytest.mark.parametrize(
    ("thing", "role", "member"),
    [
        (REGISTRY, WRITER, "user:eve@example.org"),
        (REGISTRY, READER, "allUsers"),
        (REGISTRY, WRITER, f"serviceAccount:{account('controller')}"),
        (REGISTRY, "roles/artifactregistry.admin", f"serviceAccount:{account('builder')}"),
        (BUCKET, "roles/storage.objectViewer", "allAuthenticatedUsers"),
        (BUCKET, "roles/storage.objectUser", f"projectEditor:{PROJECT}"),
        (SECRET, OPENS, "serviceAccount:other@another.iam.gserviceaccount.com"),
        (CONTROLLER, ACTS, "user:eve@example.org"),
        (DEPLOYER, FEDERATED, DEPLOYS.replace("a-lab/code", "eve/code")),
        (DEPLOYER, FEDERATED, DEPLOYS.replace(names.federation_pool_id(STACK), "eves")),
        (DEPLOYER, LENT, DEPLOYS),
        (DEPLOYER, LENT, f"serviceAccount:{account('controller')}"),
        (CONTROLLER, LENT, f"serviceAccount:{account('clock')}"),
        (POOLS, LENT, f"serviceAccount:{account('builder')}"),
        (POOLS, LENT, f"serviceAccount:{OTHER_MAKER}"),
        (CONTROLLER, FEDERATED, DEPLOYS),
    ],
)
def test_a_member_that_no_stack_declares_is_told(thing: Guarded, role: str, member: str) -> None:
    assert found(thing, role, member) == [member]


@pytest.mark.parametrize(
    ("thing", "role", "member"),
    [
        (REGISTRY, WRITER, f"serviceAccount:{account('builder')}"),
        (REGISTRY, READER, f"serviceAccount:{account('controller')}"),
        (BUCKET, "roles/storage.legacyBucketOwner", f"projectOwner:{PROJECT}"),
        (BUCKET, "roles/storage.objectUser", f"serviceAccount:{account('controller')}"),
        (SECRET, OPENS, "serviceAccount:service-7@gcp-sa-cloudbuild.iam.gserviceaccount.com"),
        (SECRET, OPENS, "deleted:user:eve@example.org?uid=1"),
        (POOLS, LENT, f"serviceAccount:{account('controller')}"),
        (POOLS, LENT, f"serviceAccount:{MAKER}"),
        (DEPLOYER, ACTS, "user:ada@example.org"),
        (DEPLOYER, FEDERATED, DEPLOYS),
    ],
)
def test_what_stacks_bootstrap_and_google_give_is_not(thing: Guarded, role: str, member: str) -> None:
    assert found(thing, role, member) == []


def test_an_account_of_another_stack_of_the_checkout_is_no_stranger() -> None:
    other = CONFIG.model_copy(update={"stack": "nightly"})
    member = f"serviceAccount:{account('controller', 'nightly')}"
    assert found(REGISTRY, READER, member) == [member]
    assert not list(strange(REGISTRY, {"bindings": [{"role": READER, "members": [member]}]}, (CONFIG, other)))


def test_registries_buckets_and_accounts_are_looked_at() -> None:
    assert {REGISTRY, BUCKET, DEPLOYER, CONTROLLER} <= set(guarded(CONFIG))
