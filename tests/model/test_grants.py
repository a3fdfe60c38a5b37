"""Whose grants are declared: accounts of stacks, what bootstrap and Google give; everybody else is a stranger."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model import bucket_names, federation, names
from infra.model.bucket_access import only_below
from infra.model.grants import Guarded, guarded, strange
from infra.model.schema import StackConfig
from tests.model.given import parse, stack_text
from tests.model.queued import stack

GITHUB = """
    repository: a-lab/code
    environments: [apply]
    run_makers:
      - {repository: a-lab/code, pool: tpu-ci, workflows: [night.yaml]}
      - {repository: b-lab/code, pool: other, workflows: [night.yaml]}
"""
RUNS = (
    "pool: tpu-ci\naccelerators: [v5litepod-4]\nzones: [us-west4-a]\nper_day: 1\nat_once: 1\ntime_to_live_minutes: 60\n"
)
RESULTS = "{bucket: {name: my-lab-results, location: us}, kept_days: 30, suites: []}\n"
REGISTRIES = "{regions: [us-west4], repositories: [{name: marin-ci}]}\n"
CONFIG = parse(stack_text(github=GITHUB, registries=REGISTRIES, results=RESULTS, runs=RUNS))
PROJECT, STACK = CONFIG.project, CONFIG.stack
READER, WRITER = "roles/artifactregistry.reader", "roles/artifactregistry.writer"
ACTS, FEDERATED = "roles/iam.serviceAccountTokenCreator", "roles/iam.workloadIdentityUser"
OPENS, DATES = "roles/secretmanager.secretAccessor", "roles/secretmanager.viewer"


def account(role: str, stack: str = STACK) -> str:
    return names.account_email(names.role_account_id(stack, role), PROJECT)


REGISTRY = Guarded("registry", f"projects/{PROJECT}/locations/us-west4/repositories/marin-ci")
BUCKET = Guarded("bucket", CONFIG.bucket.name)
SECRET = Guarded("secret", f"projects/{PROJECT}/secrets/key")
DEPLOYER = Guarded("account", f"projects/{PROJECT}/serviceAccounts/tidepool-deployer@{PROJECT}.iam.gserviceaccount.com")
CONTROLLER = Guarded("account", f"projects/{PROJECT}/serviceAccounts/{account('controller')}")
RUNNERS = "{app: {id: 1, installation: 2, key_secret: key}}\n"
VMS = Guarded(
    "account",
    f"projects/{PROJECT}/serviceAccounts/{names.account_email(names.pool_account_id(STACK, 'tpu-ci'), PROJECT)}",
)
"""The account of a pool, which workflows of a-lab may give to VMs."""
RUNS_VMS = f"serviceAccount:{VMS.name.rpartition('/')[2]}"
MAKER, OTHER_MAKER = (each.email for each in federation.run_makers(CONFIG))
LENT = "roles/iam.serviceAccountUser"
POOL = "principalSet://iam.googleapis.com/projects/7/locations/global/workloadIdentityPools"
DEPLOYS = f"{POOL}/{names.federation_pool_id(STACK)}/attribute.deployment/a-lab/code/apply/refs/heads/main"


def found(thing: Guarded, role: str, member: str, condition: str = "", config: StackConfig = CONFIG) -> list[str]:
    given = {"condition": {"title": "a", "expression": condition}} if condition else {}
    policy: dict[str, Any] = {"bindings": [{"role": role, "members": [member], **given}]}
    return [each.member for each in strange(thing, policy, (config,))]


@pytest.mark.parametrize(
    ("thing", "role", "member", "declared"),
    [
        (REGISTRY, WRITER, f"serviceAccount:{account('builder')}", True),
        (REGISTRY, READER, RUNS_VMS, True),
        (REGISTRY, READER, f"serviceAccount:{account('image-builder')}", True),
        (BUCKET, "roles/storage.legacyBucketReader", f"serviceAccount:{account('controller')}", True),
        (BUCKET, "roles/storage.legacyBucketOwner", f"projectOwner:{PROJECT}", True),
        (SECRET, OPENS, "serviceAccount:service-7@gcp-sa-cloudbuild.iam.gserviceaccount.com", True),
        (SECRET, OPENS, "deleted:user:eve@example.org?uid=1", True),
        (VMS, LENT, f"serviceAccount:{account('controller')}", True),
        (VMS, LENT, f"serviceAccount:{MAKER}", True),
        (DEPLOYER, ACTS, "user:ada@example.org", True),
        (DEPLOYER, FEDERATED, DEPLOYS, True),
        (REGISTRY, WRITER, "user:eve@example.org", False),
        (REGISTRY, READER, "allUsers", False),
        (REGISTRY, WRITER, f"serviceAccount:{account('controller')}", False),
        (REGISTRY, "roles/artifactregistry.admin", f"serviceAccount:{account('builder')}", False),
        (BUCKET, "roles/storage.objectViewer", "allAuthenticatedUsers", False),
        (BUCKET, "roles/storage.objectUser", f"projectEditor:{PROJECT}", False),
        (SECRET, OPENS, "serviceAccount:other@another.iam.gserviceaccount.com", False),
        (CONTROLLER, ACTS, "user:eve@example.org", False),
        (DEPLOYER, FEDERATED, DEPLOYS.replace("a-lab/code", "eve/code"), False),
        (DEPLOYER, FEDERATED, DEPLOYS.replace(names.federation_pool_id(STACK), "eves"), False),
        (DEPLOYER, LENT, DEPLOYS, False),
        (DEPLOYER, LENT, f"serviceAccount:{account('controller')}", False),
        (CONTROLLER, LENT, f"serviceAccount:{account('clock')}", False),
        (VMS, LENT, f"serviceAccount:{account('builder')}", False),
        (VMS, LENT, f"serviceAccount:{OTHER_MAKER}", False),
        (CONTROLLER, FEDERATED, DEPLOYS, False),
        (REGISTRY, WRITER, RUNS_VMS, False),
        (REGISTRY, "roles/artifactregistry.repoAdmin", RUNS_VMS, False),
        (REGISTRY, READER, f"serviceAccount:{account('controller')}", False),
        (BUCKET, "roles/storage.admin", f"serviceAccount:{account('controller')}", False),
        (BUCKET, "roles/storage.objectUser", f"serviceAccount:{account('controller')}", False),
        (BUCKET, "roles/storage.objectViewer", RUNS_VMS, False),
        (BUCKET, "roles/storage.legacyBucketReader", RUNS_VMS, False),
        (VMS, ACTS, f"serviceAccount:{account('controller')}", False),
        (VMS, "roles/iam.serviceAccountUser", f"serviceAccount:{account('broker')}", False),
        (CONTROLLER, "roles/iam.serviceAccountUser", f"serviceAccount:{account('clock')}", False),
        (SECRET, "roles/secretmanager.secretAccessor", f"serviceAccount:{account('controller')}", False),
    ],
)
def test_a_member_with_a_role_that_no_stack_bootstrap_or_google_gives_it_there_is_told(
    thing: Guarded, role: str, member: str, declared: bool
) -> None:
    assert found(thing, role, member) == ([] if declared else [member])


def test_a_grant_is_declared_with_its_condition_alone() -> None:
    writes, member = "roles/storage.objectUser", f"serviceAccount:{account('controller')}"
    declared = only_below(BUCKET.name, bucket_names.CONTROL_PREFIX)
    below_runs = only_below(BUCKET.name, bucket_names.RUNS_PREFIX)
    assert found(BUCKET, writes, f"serviceAccount:{MAKER}", below_runs) == []
    assert {BUCKET, Guarded("bucket", "my-lab-results")} <= set(guarded(CONFIG))
    assert found(BUCKET, writes, member, declared) == []
    for condition in (only_below(BUCKET.name, bucket_names.MANIFEST_PREFIX), only_below(BUCKET.name, ""), "true"):
        assert found(BUCKET, writes, member, condition) == [member]
    (told,) = strange(BUCKET, {"bindings": [{"role": writes, "members": [member]}]}, (CONFIG,))
    assert told.says == f"{member} has {writes}, which no stack declares"
    bound = {"role": writes, "members": [member], "condition": {"expression": "true"}}
    (told,) = strange(BUCKET, {"bindings": [bound]}, (CONFIG,))
    assert told.says == f"{member} has {writes} where true, which no stack declares"


def test_a_secret_is_opened_by_its_readers_and_the_app_key_dated_by_the_controller() -> None:
    config = parse(
        stack_text(secrets="[{name: key, readers: [broker]}, {name: other, readers: [controller]}]\n", runners=RUNNERS)
    )
    broker, controller = (f"serviceAccount:{account(each)}" for each in ("broker", "controller"))
    assert found(SECRET, OPENS, broker, config=config) == []
    assert found(SECRET, DATES, controller, config=config) == []
    assert found(SECRET, OPENS, controller, config=config) == [controller]
    other = Guarded("secret", f"projects/{PROJECT}/secrets/other")
    assert found(other, DATES, controller, config=config) == [controller]
    assert found(other, OPENS, controller, config=config) == []


def test_what_builds_images_of_a_stack_that_borrows_its_registries_is_a_stranger_there() -> None:
    other = CONFIG.model_copy(update={"stack": "nightly", "registries": None, "registry_stack": f"lab/{STACK}"})
    writes = {"role": WRITER, "members": [f"serviceAccount:{names.account_email('tidepool-nightly-builder', PROJECT)}"]}
    assert [each.role for each in strange(REGISTRY, {"bindings": [writes]}, (CONFIG, other))] == [WRITER]


def test_a_pool_of_another_stack_reads_the_registries_that_its_stack_names_and_no_others() -> None:
    other = CONFIG.model_copy(update={"stack": "nightly", "registries": None})
    member = f"serviceAccount:{names.account_email(names.pool_account_id('nightly', 'tpu-ci'), PROJECT)}"
    policy = {"bindings": [{"role": READER, "members": [member]}]}
    assert [each.member for each in strange(REGISTRY, policy, (CONFIG, other))] == [member]
    reads = other.model_copy(update={"registry_stack": f"a-lab/tidepool/{STACK}"})
    assert not list(strange(REGISTRY, policy, (CONFIG, reads)))


TRAINER = Guarded("account", "projects/my-lab-tpus/serviceAccounts/trainer@my-lab-tpus.iam.gserviceaccount.com")
"""The Google account of team rl, which the lab made and no stack."""


@pytest.mark.parametrize(
    ("role", "member", "strangers"),
    [
        (FEDERATED, "serviceAccount:my-lab-tpus.svc.id.goog[rl/trainer]", 0),
        (FEDERATED, "serviceAccount:my-lab-tpus.svc.id.goog[pretraining/trainer]", 1),
        (FEDERATED, "serviceAccount:my-lab-tpus.svc.id.goog[rl/default]", 1),
        (FEDERATED, "serviceAccount:another-lab.svc.id.goog[rl/trainer]", 1),
        (ACTS, "serviceAccount:my-lab-tpus.svc.id.goog[rl/trainer]", 1),
        (LENT, "user:somebody@my-lab.org", 1),
    ],
)
def test_a_teams_account_is_its_own_pods_and_nobody_elses(role: str, member: str, strangers: int) -> None:
    config = stack()
    assert TRAINER in guarded(config)
    assert len(found(TRAINER, role, member, config=config)) == strangers


def test_a_secret_that_names_a_team_is_opened_by_its_account_and_no_other_teams() -> None:
    config = stack(secrets=[{"name": "hf", "readers": ["team/rl"]}, {"name": "other", "readers": []}])
    reader = f"serviceAccount:{TRAINER.name.rpartition('/')[2]}"
    hf, other = (Guarded("secret", f"projects/my-lab-tpus/secrets/{name}") for name in ("hf", "other"))
    assert found(hf, OPENS, reader, config=config) == []
    assert found(other, OPENS, reader, config=config) == [reader]
