"""The store of locks that a stack declares: an instance or a database, who reaches it, and that no password is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.jobs.store.opened import VARIABLE
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


@pytest.fixture(scope="module")
def redis() -> Built:
    return made(REDIS)


@pytest.fixture(scope="module")
def firestore() -> Built:
    return made(FIRESTORE)


def test_a_redis_stands_in_the_clusters_network_at_known_addresses(redis: Built) -> None:
    instance = redis.one("redis/instance:Instance").inputs
    (network,) = [each for each in redis.of("compute/network:Network") if each.name == "tidepool-training-gke"]
    assert network.urn in redis.one("redis/instance:Instance").dependencies
    assert (instance["name"], instance["memorySizeGb"], instance["tier"]) == ("tidepool-training", 2, "STANDARD_HA")
    assert (instance["reservedIpRange"], instance["connectMode"]) == ("10.33.0.0/29", "DIRECT_PEERING")


def test_a_full_redis_refuses_and_drops_no_lock(redis: Built) -> None:
    assert redis.one("redis/instance:Instance").inputs["redisConfigs"] == {"maxmemory-policy": "noeviction"}


def test_no_password_of_a_store_is_ever_in_the_state(redis: Built) -> None:
    """The provider reads the password of an instance that has one, and keeps it."""
    assert not redis.one("redis/instance:Instance").inputs.get("authEnabled")


def test_pods_of_each_team_are_told_where_the_store_is(redis: Built, firestore: Built) -> None:
    for program, scheme in ((redis, "redis://"), (firestore, "firestore://my-lab-tpus/tidepool-training")):
        (told,) = [each for each in program.of("ConfigMap") if each.name == "ConfigMap/rl/tidepool-store"]
        assert told.inputs["data"][VARIABLE].startswith(scheme)


def test_an_edited_address_never_leaves_pods_without_one(redis: Built) -> None:
    (provider,) = [each for each in redis.resources.values() if each.type == "pulumi:providers:kubernetes"]
    assert json.loads(json.dumps(provider.inputs["enableConfigMapMutable"])) in (True, "true")


def test_a_database_is_used_by_teams_accounts_and_opens_no_other_database(firestore: Built) -> None:
    (grant,) = [
        each.inputs for each in firestore.of("projects/iAMMember:IAMMember") if "datastore" in each.inputs["role"]
    ]
    assert (grant["role"], grant["member"]) == ("roles/datastore.user", f"serviceAccount:{ACCOUNT}")
    database = "projects/my-lab-tpus/databases/tidepool-training"
    assert grant["condition"]["expression"] == f'resource.name == "{database}"'


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


def test_a_database_that_goes_is_deleted_and_no_conflict_for_the_next(firestore: Built) -> None:
    assert firestore.one("firestore/database:Database").inputs["deletionPolicy"] == "DELETE"


@pytest.mark.parametrize(("store", "api"), [(REDIS, "redis"), (FIRESTORE, "firestore"), (None, "")])
def test_the_api_of_the_store_that_is_declared_is_enabled_and_no_other(store: Any, api: str) -> None:
    enabled = {each.inputs["service"].partition(".")[0] for each in made(store).of("projects/service:Service")}
    assert enabled & {"redis", "firestore"} == ({api} if api else set())


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
