"""The store of locks that a stack declares: an instance or a database, who reaches it, and that no password is kept."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model.errors import ConfigError
from infra.model.grants import Guarded, Kind, guarded, strange
from infra.program.stack import declare
from tests.model.queued import stack
from tests.program.fake_engine import Built, Registered, build

ACCOUNT = "trainer@my-lab-tpus.iam.gserviceaccount.com"
INSTANCE, DATABASE = "gcp:redis/instance:Instance", "gcp:firestore/database:Database"
TEAMS = [{"name": "rl", "account": ACCOUNT}]
REDIS = {"redis": {"region": "us-central1", "memory_gb": 2}}
FIRESTORE = {"firestore": {"location": "nam5"}}


def made(store: Any, **more: Any) -> Built:
    config = stack(store=store, teams=TEAMS, **more)
    return build(lambda: declare(config), stack="training")


@pytest.mark.parametrize("declared", [REDIS, FIRESTORE], ids=["redis", "firestore"])
@pytest.mark.parametrize("protects", [True, False])
def test_a_store_is_protected_as_the_cluster_is_until_the_file_lets_it_go(declared: Any, protects: bool) -> None:
    program = made(declared if protects else declared | {"deletion_protection": False})
    (kept,) = [each for each in program.resources.values() if each.type in (INSTANCE, DATABASE)]
    google = kept.inputs.get("deletionProtection", kept.inputs.get("deleteProtectionState"))
    assert kept.protect is protects
    assert google in ((True, "DELETE_PROTECTION_ENABLED") if protects else (False, "DELETE_PROTECTION_DISABLED"))


def test_a_database_is_only_where_firestore_is() -> None:
    with pytest.raises(ConfigError, match=r"us-central2(.|\n)*not a region or multi-region of Firestore"):
        made({"firestore": {"location": "us-central2"}})


def test_secrets_of_a_team_are_read_by_its_account_alone() -> None:
    secrets = [{"name": "hf-token", "readers": ["team/rl"]}, {"name": "other", "readers": []}]
    program = made(None, secrets=secrets)
    grants = [(each.inputs["secretId"], each.inputs["member"]) for each in program.of("SecretIamMember")]
    assert grants == [("hf-token", f"serviceAccount:{ACCOUNT}")]
    (mount,) = list(program.of("SecretProviderClass"))
    assert mount.name == "SecretProviderClass/rl/hf-token"
    assert mount.inputs["spec"]["parameters"] == {
        "secrets": "- resourceName: projects/my-lab-tpus/secrets/hf-token/versions/latest\n  path: value\n"
    }
    assert program.one("container/cluster:Cluster").inputs["secretManagerConfig"] == {"enabled": True}


def test_what_teams_are_granted_is_what_drift_takes_for_declared() -> None:
    secrets = [{"name": "hf-token", "readers": ["team/rl"]}]
    program, config = made(None, secrets=secrets), stack(teams=TEAMS, secrets=secrets)
    accounts: list[tuple[Kind, Registered, str]] = [
        ("account", each, each.inputs["serviceAccountId"]) for each in program.of("serviceaccount/iAMMember:IAMMember")
    ]
    readers: list[tuple[Kind, Registered, str]] = [
        ("secret", each, "projects/my-lab-tpus/secrets/{secretId}".format(**each.inputs))
        for each in program.of("SecretIamMember")
    ]
    assert len(accounts) == len(readers) == 1
    for kind, grant, name in (*accounts, *readers):
        thing = Guarded(kind, name)
        assert thing in guarded(config)
        binding = {"role": grant.inputs["role"], "members": [grant.inputs["member"]]}
        assert list(strange(thing, {"bindings": [binding]}, (config,))) == []
