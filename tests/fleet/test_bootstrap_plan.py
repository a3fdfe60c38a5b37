"""What bootstrap plans: a pure function of what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.fleet.bootstrap import (
    APIS,
    BUCKET_SETTINGS,
    DEPLOYER_ROLES,
    actions,
    grants,
    lacking,
    next_commands,
    only_buckets,
    plan,
)
from infra.fleet.bootstrap_steps import (
    AddGrants,
    BootstrapTarget,
    EnableApis,
    Grant,
    MakeAccount,
    MakeBucket,
    MakeKey,
    MakeKeyRing,
    MendBucket,
    Observed,
    Wanted,
)
from tests.fleet.status.test_scenes import same

WANTED = Wanted(
    project="lab-tpus",
    location="us-central1",
    bucket="lab-tpus-pulumi-state",
    fleet_buckets=("lab-tpus-tidepool-ci",),
    impersonators=("user:ada@example.org",),
)
DEPLOYER = "serviceAccount:tidepool-deployer@lab-tpus.iam.gserviceaccount.com"


def policies(wanted: Wanted = WANTED) -> dict[BootstrapTarget, dict[str, Any]]:
    return {target: {"bindings": [each.binding() for each in given]} for target, given in grants(wanted).items()}


def complete(**changes: Any) -> Observed:
    there: dict[str, Any] = {
        "enabled": frozenset(APIS),
        "bucket": BUCKET_SETTINGS,
        "key_ring": True,
        "key": True,
        "account": True,
        "policies": policies(),
    }
    return Observed(**{**there, **changes})


def todo(observed: Observed, wanted: Wanted = WANTED) -> tuple[object, ...]:
    return actions(plan(observed, wanted))


def test_an_empty_project_gets_everything_in_an_order_that_can_be_made() -> None:
    kinds = [type(action) for action in todo(Observed())]
    assert kinds[:5] == [EnableApis, MakeBucket, MakeKeyRing, MakeKey, MakeAccount]
    assert set(kinds[5:]) == {AddGrants}


def test_what_a_plan_says_of_each_step(update_goldens: bool) -> None:
    said = [
        [f"{step.what}: {step.why}{'' if step.action else ' (there)'}" for step in plan(observed, WANTED)]
        for observed in (Observed(), complete(bucket={}), complete())
    ]
    same(
        Path(__file__).parent / "golden" / "bootstrap-plans.json", "empty, open, complete", said, update=update_goldens
    )


@pytest.mark.parametrize("setting", sorted(BUCKET_SETTINGS))
def test_a_bucket_of_ones_own_is_brought_to_each_safe_setting(setting: str) -> None:
    bucket = {key: value for key, value in BUCKET_SETTINGS.items() if key != setting}
    assert todo(complete(bucket=bucket)) == (MendBucket({setting: BUCKET_SETTINGS[setting]}),)


def test_a_bucket_open_to_the_public_is_closed() -> None:
    iam = {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "inherited"}
    assert set(lacking({**BUCKET_SETTINGS, "iamConfiguration": iam})) == {"iamConfiguration"}


def test_the_deployer_has_no_basic_role_and_every_role_has_a_reason() -> None:
    for some in grants(WANTED).values():
        for grant in some:
            assert grant.role not in {"roles/owner", "roles/editor", "roles/viewer"}
            assert grant.why
    assert all(DEPLOYER_ROLES.values())


def test_the_state_bucket_and_the_key_are_opened_to_the_deployer_alone() -> None:
    wanted = grants(WANTED)
    assert [(grant.role, grant.member) for grant in wanted[BootstrapTarget.BUCKET]] == [
        ("roles/storage.objectAdmin", DEPLOYER)
    ]
    assert [(grant.role, grant.member) for grant in wanted[BootstrapTarget.KEY]] == [
        ("roles/cloudkms.cryptoKeyEncrypterDecrypter", DEPLOYER)
    ]


def test_rights_on_storage_in_the_project_end_at_the_fleet_buckets() -> None:
    (storage,) = [grant for grant in grants(WANTED)[BootstrapTarget.PROJECT] if "storage" in grant.role]
    assert '"projects/_/buckets/lab-tpus-tidepool-ci"' in storage.condition
    assert WANTED.bucket not in storage.condition
    assert "startsWith(" in storage.condition
    assert '"projects/_/buckets/lab-tpus-tidepool-ci/"' in storage.condition


def test_a_bucket_whose_name_only_begins_alike_is_not_opened() -> None:
    assert 'startsWith("projects/_/buckets/a")' not in only_buckets(["a"])


def test_a_grant_under_another_condition_does_not_count() -> None:
    (storage,) = [grant for grant in grants(WANTED)[BootstrapTarget.PROJECT] if "storage" in grant.role]
    wider = Grant(role=storage.role, member=storage.member, why="", condition="true")
    bindings = [each.binding() for each in grants(WANTED)[BootstrapTarget.PROJECT] if each != storage]
    there = {**policies(), BootstrapTarget.PROJECT: {"bindings": [*bindings, wider.binding()]}}
    assert todo(complete(policies=there)) == (AddGrants(BootstrapTarget.PROJECT, (storage,)),)


def test_what_follows_is_three_commands() -> None:
    login, init, up = next_commands(WANTED, "ci")
    assert login == "pulumi login gs://lab-tpus-pulumi-state"
    assert init == (
        "pulumi stack init ci --secrets-provider="
        "gcpkms://projects/lab-tpus/locations/us-central1/keyRings/tidepool/cryptoKeys/pulumi-secrets"
    )
    assert up == "./tidepool up ci"


missing = st.sets(
    st.sampled_from(["enabled", "bucket", "key_ring", "key", "account"])
    | st.sampled_from(list(BootstrapTarget)).map(lambda target: f"grants on {target}")
)


@given(missing)
@settings(deadline=None)
def test_whatever_is_missing_is_planned_and_nothing_else(gone: set[str]) -> None:
    none: dict[str, Any] = {"enabled": frozenset(), "bucket": None, "key_ring": False, "key": False, "account": False}
    changes = {name: value for name, value in none.items() if name in gone}
    left = {target: policy for target, policy in policies().items() if f"grants on {target}" not in gone}
    planned = todo(complete(policies=left, **changes))
    kinds = {
        "enabled": EnableApis,
        "bucket": MakeBucket,
        "key_ring": MakeKeyRing,
        "key": MakeKey,
        "account": MakeAccount,
    }
    assert {kind for name, kind in kinds.items() if name in gone} == {type(each) for each in planned} - {AddGrants}
    granted = {f"grants on {each.target}" for each in planned if isinstance(each, AddGrants)}
    assert granted == {name for name in gone if name.startswith("grants")}
