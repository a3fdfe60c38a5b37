"""The calls that the real Google provider makes, type by type, as they were recorded: raw requests, in its order.

What decides between "nothing to do" and a needless update is the echo: a read gives back every field that was sent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
import urllib3

P = "wire-lab"
TOP = {"goog-pulumi-provisioned": "true"}
NETWORK = f"projects/{P}/global/networks/net"


@dataclass(frozen=True)
class Wire:
    url: str
    pool: urllib3.PoolManager

    def ask(self, verb: str, path: str, body: Any = None) -> urllib3.BaseHTTPResponse:
        """One request with the provider's query."""
        mark = "&" if "?" in path else "?"
        headers = {"Content-Type": "application/json", "Authorization": "Bearer anything"}
        data = None if body is None else json.dumps(body)
        url = f"{self.url}/{path}{mark}alt=json&prettyPrint=false"
        return self.pool.request(verb, url, body=data, headers=headers, retries=False)

    def __call__(self, verb: str, path: str, body: Any = None) -> Any:
        """The answer's JSON; a refusal fails the test."""
        answer = self.ask(verb, path, body)
        assert answer.status < 300, answer.data
        return answer.json() if answer.data else {}

    def lro(self, verb: str, path: str, body: Any = None, base: str = "v1") -> Any:
        answer = self(verb, path, body)
        while not answer.get("done"):
            answer = self("GET", f"{base}/{answer['name']}")
        assert "error" not in answer
        return answer

    def compute(self, verb: str, path: str, body: Any = None) -> None:
        """The status is compared; region and name are the last parts of the links."""
        answer = self(verb, f"compute/beta/{path}", body)
        while answer["status"] != "DONE":
            region = answer.get("region", "").rpartition("/")[2]
            scope = f"regions/{region}" if region else "global"
            answer = self("GET", f"compute/beta/projects/{P}/{scope}/operations/{answer['name']}")

    def gone(self, path: str) -> None:
        assert self.ask("GET", path).status == 404


@pytest.fixture(scope="module")
def wire(google):
    with urllib3.PoolManager() as pool:
        yield Wire(google.url, pool)


def _echoed(got: Any, sent: Any) -> None:
    """Every field that was sent is there as it was sent; links are compared by their last part."""
    for key, value in sent.items():
        if isinstance(value, dict):
            _echoed(got.get(key), value)
        elif isinstance(value, str) and value.startswith("projects/"):
            assert got[key].endswith(value.rpartition("/")[2]), key
        elif value not in (False, "", 0):
            assert got[key] == value, key


def test_artifactregistry_repository(wire):
    parent = f"v1/projects/{P}/locations/us-east5/repositories"
    body = {
        "format": "DOCKER",
        "mode": "STANDARD_REPOSITORY",
        "description": "d",
        "labels": TOP,
        "cleanupPolicies": {
            "old": {"id": "old", "action": "DELETE", "condition": {"tagState": "ANY", "olderThan": "30d"}},
            "keep": {"id": "keep", "action": "KEEP", "mostRecentVersions": {"keepCount": 16}},
        },
    }
    wire.lro("POST", f"{parent}?repository_id=marin", body)
    got = wire("GET", f"{parent}/marin")
    assert got["cleanupPolicies"]["old"]["condition"].pop("olderThan") == "2592000s"
    body["cleanupPolicies"]["old"]["condition"].pop("olderThan")
    _echoed(got, body)
    changed = wire("PATCH", f"{parent}/marin?updateMask=description,labels", {**got, "description": "new"})
    assert changed["description"] == "new"
    wire.lro("DELETE", f"{parent}/marin")
    wire.gone(f"{parent}/marin")


def test_serviceaccount_account(wire):
    body = {"accountId": "wire-account", "serviceAccount": {"displayName": "Wire", "description": "d"}}
    made = wire("POST", f"v1/projects/{P}/serviceAccounts", body)
    # The sign stands unescaped in the path.
    path = f"v1/projects/{P}/serviceAccounts/wire-account@{P}.iam.gserviceaccount.com"
    assert wire("GET", path) == made
    changed = {"displayName": "New", "description": "d", "etag": made["etag"]}
    wire("PATCH", path, {"serviceAccount": changed, "updateMask": "display_name"})
    assert wire("GET", path)["displayName"] == "New"
    wire("DELETE", path)
    wire.gone(path)


def test_projects_service(wire):
    path = f"v1/projects/{P}/services"
    query = "filter=state:ENABLED&fields=services/name,nextPageToken&pageSize=200"
    assert wire("GET", f"{path}?{query}") == {}
    wire.lro("POST", f"{path}:batchEnable", {"serviceIds": ["tpu.googleapis.com", "iam.googleapis.com"]}, "v1beta1")
    wire.lro("POST", f"{path}/compute.googleapis.com:enable", {}, "v1beta1")
    listed = wire("GET", f"{path}?{query}")["services"]
    assert {each["name"].rpartition("/")[2] for each in listed} == {
        f"{n}.googleapis.com" for n in ("tpu", "iam", "compute")
    }
    assert wire("GET", f"v1/projects/{P}")["lifecycleState"] == "ACTIVE"
    off = {"checkIfServiceHasUsage": "SKIP", "disableDependentServices": True}
    wire.lro("POST", f"{path}/iam.googleapis.com:disable", off, "v1beta1")


def test_secretmanager_secret(wire):
    path = f"v1/projects/{P}/secrets"
    body = {"labels": TOP, "annotations": {"a": "b"}, "replication": {"automatic": {}}}
    wire("POST", f"{path}?secretId=token", body)
    _echoed(wire("GET", f"{path}/token"), body)
    wire("PATCH", f"{path}/token?updateMask=annotations,labels", {**body, "labels": {**TOP, "x": "y"}})
    assert wire("GET", f"{path}/token")["labels"] == {**TOP, "x": "y"}
    wire("DELETE", f"{path}/token")
    wire.gone(f"{path}/token")


def test_storage_bucket(wire):
    body = {
        "name": "wire-lab-bucket",
        "location": "US-CENTRAL1",
        "storageClass": "STANDARD",
        "labels": TOP,
        "versioning": {"enabled": True},
        "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"},
        "lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"numNewerVersions": 20}}]},
        "softDeletePolicy": {"retentionDurationSeconds": "604800"},
    }
    wire("POST", f"storage/v1/b?project={P}", body)
    got = wire("GET", "storage/v1/b/wire-lab-bucket")
    _echoed(got, body)
    # A new bucket asks Compute Engine for the project of its number.
    assert wire("GET", f"compute/beta/projects/{got['projectNumber']}")["name"] == P
    patch = {"labels": {**TOP, "x": "y"}, "lifecycle": None}
    changed = wire("PATCH", "storage/v1/b/wire-lab-bucket", patch)
    assert (changed["labels"], "lifecycle" in changed) == (patch["labels"], False)
    wire("GET", "storage/v1/b/wire-lab-bucket/anywhereCaches/")
    assert "items" not in wire("GET", "storage/v1/b/wire-lab-bucket/o?versions=true")
    wire("DELETE", "storage/v1/b/wire-lab-bucket")
    wire.gone("storage/v1/b/wire-lab-bucket")


def _member(wire, get, put, key="policy"):
    """Read, add one member with the etag, read three times; then take the member away again."""
    binding = {"role": "roles/viewer", "members": ["group:wire@example.org"]}
    policy = get()
    bindings = [*policy.get("bindings", []), binding]
    put({**policy, "bindings": bindings, "version": 3})
    assert [get() for _ in range(3)][-1]["bindings"] == bindings
    policy = get()
    put({"bindings": bindings[:-1], "etag": policy["etag"], "version": 3})
    assert get().get("bindings", []) == bindings[:-1]


def test_members_of_each_resource(wire):
    wire("POST", f"v1/projects/{P}/serviceAccounts", {"accountId": "wire-member"})
    wire("POST", f"v1/projects/{P}/secrets?secretId=members", {"replication": {"automatic": {}}})
    wire.lro("POST", f"v1/projects/{P}/locations/us/repositories?repository_id=members", {"format": "DOCKER"})
    wire("POST", f"storage/v1/b?project={P}", {"name": "wire-lab-members", "location": "US"})
    asked = {"options": {"requestedPolicyVersion": 3}}
    mask = "bindings,etag,auditConfigs"
    _member(
        wire,
        lambda: wire("POST", f"v1/projects/{P}:getIamPolicy", asked),
        lambda policy: wire("POST", f"v1/projects/{P}:setIamPolicy", {"policy": policy, "updateMask": mask}),
    )
    account = f"v1/projects/{P}/serviceAccounts/wire-member@{P}.iam.gserviceaccount.com"
    for path, verb, query in (
        (account, "POST", "?options.requestedPolicyVersion=3"),
        (f"v1/projects/{P}/locations/us/repositories/members", "GET", ""),
        (f"v1/projects/{P}/secrets/members", "GET", "?options.requestedPolicyVersion=3"),
    ):
        _member(
            wire,
            lambda path=path, verb=verb, query=query: wire(verb, f"{path}:getIamPolicy{query}"),
            lambda policy, path=path: wire("POST", f"{path}:setIamPolicy", {"policy": policy}),
        )
    bucket = "storage/v1/b/wire-lab-members/iam"
    _member(
        wire,
        lambda: wire("GET", f"{bucket}?optionsRequestedPolicyVersion=3"),
        lambda policy: wire("PUT", bucket, policy),
    )


def test_compute_network_subnetwork_router_and_nat(wire):
    network = {
        "name": "net",
        "autoCreateSubnetworks": False,
        "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
        # Only the provider knows the last field.
        "routingConfig": {"routingMode": "REGIONAL", "deleteBgpAlwaysCompareMed": False},
    }
    wire.compute("POST", f"projects/{P}/global/networks", network)
    got = wire("GET", f"compute/beta/{NETWORK}")
    del network["routingConfig"]["deleteBgpAlwaysCompareMed"]
    _echoed(got, network)
    assert got["autoCreateSubnetworks"] is False

    region = f"projects/{P}/regions/us-east5"
    subnet = {
        "name": "sub",
        "network": NETWORK,
        "region": f"projects/{P}/global/regions/us-east5",
        "ipCidrRange": "10.4.0.0/16",
        "privateIpGoogleAccess": True,
        "logConfig": {"enable": True, "aggregationInterval": "INTERVAL_5_SEC", "flowSampling": 0.5,
                      "metadata": "INCLUDE_ALL_METADATA", "filterExpr": "true"},
    }  # fmt: skip
    wire.compute("POST", f"{region}/subnetworks", subnet)
    got = wire("GET", f"compute/beta/{region}/subnetworks/sub")
    _echoed(got, subnet)
    wire.compute("POST", f"{region}/subnetworks/sub/setPrivateIpGoogleAccess", {})
    got = wire("GET", f"compute/beta/{region}/subnetworks/sub")
    wire.compute(
        "PATCH", f"{region}/subnetworks/sub", {"fingerprint": got["fingerprint"], "logConfig": {"enable": False}}
    )

    wire.compute("POST", f"{region}/routers", {"name": "router", "network": NETWORK, "region": region, "bgp": None})
    router = wire("GET", f"compute/beta/{region}/routers/router")
    nat = {
        "name": "nat",
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
        "minPortsPerVm": 64,
        "icmpIdleTimeoutSec": 30,
        "logConfig": {"enable": True, "filter": "ERRORS_ONLY"},
        "type": "PUBLIC",
    }
    # initialNatIps is the provider's own as well.
    wire.compute("PATCH", f"{region}/routers/router", {"nats": [{**nat, "initialNatIps": None}]})
    assert wire("GET", f"compute/beta/{region}/routers/router")["nats"] == [nat]
    wire.compute("PATCH", f"{region}/routers/router", {"name": router["name"], "description": "changed"})
    assert wire("GET", f"compute/beta/{region}/routers/router")["nats"] == [nat]
    wire.compute("PATCH", f"{region}/routers/router", {"nats": []})
    for path in (f"{region}/routers/router", f"{region}/subnetworks/sub", NETWORK):
        wire.compute("DELETE", path)
        wire.gone(f"compute/beta/{path}")


def test_kms_ring_and_key(wire):
    rings = f"v1/projects/{P}/locations/us-east5/keyRings"
    wire("POST", f"{rings}?keyRingId=ring", {})
    body = {"purpose": "ENCRYPT_DECRYPT", "labels": TOP, "rotationPeriod": "7776000s",
            "nextRotationTime": "2027-02-19T08:00:00.123456Z"}  # fmt: skip
    keys = f"{rings}/ring/cryptoKeys"
    wire("POST", f"{keys}?cryptoKeyId=key&skipInitialVersionCreation=false", body)
    _echoed(wire("GET", f"{keys}/key"), body)
    wire("PATCH", f"{keys}/key?updateMask=labels", {"labels": {**TOP, "x": "y"}})
    for version in wire("GET", f"{keys}/key/cryptoKeyVersions")["cryptoKeyVersions"]:
        wire("POST", f"v1/{version['name']}:destroy", {})
    wire("PATCH", f"{keys}/key?updateMask=rotationPeriod,nextRotationTime")
    assert "rotationPeriod" not in wire("GET", f"{keys}/key")


def test_pubsub_topic(wire):
    path = f"v1/projects/{P}/topics/wire"
    body = {"labels": TOP, "messageRetentionDuration": "86400s"}
    wire("PUT", path, body)
    _echoed(wire("GET", path), body)
    # The mask stands in the query, where the discovery document has it in the body.
    changed = {"topic": {"name": f"projects/{P}/topics/wire", "labels": {**TOP, "a": "b"}}}
    wire("PATCH", f"{path}?updateMask=labels", changed)
    assert wire("GET", path) == {"name": f"projects/{P}/topics/wire", **body, "labels": {**TOP, "a": "b"}}
    wire("DELETE", path)
    wire.gone(path)


def test_a_subscription_sends_its_mask_beside_the_body(wire):
    topic, name = f"projects/{P}/topics/pulled", f"projects/{P}/subscriptions/pulled"
    wire("PUT", f"v1/{topic}", {})
    wire("PUT", f"v1/{name}", {"topic": topic, "labels": TOP, "ackDeadlineSeconds": 10})
    changed = {"subscription": {"name": name, "ackDeadlineSeconds": 20, "labels": TOP}}
    wire("PATCH", f"v1/{name}?updateMask=ackDeadlineSeconds", changed)
    assert wire("GET", f"v1/{name}")["ackDeadlineSeconds"] == 20


def test_cloudscheduler_job(wire):
    parent, topic = f"projects/{P}/locations/us-central1", f"projects/{P}/topics/scheduled"
    wire("PUT", f"v1/{topic}", {})
    body = {
        "name": f"{parent}/jobs/wire",
        "schedule": "0 3 * * *",
        "timeZone": "Etc/UTC",
        "description": "d",
        "pubsubTarget": {"topicName": topic, "attributes": {"started_by": "wire"}},
    }
    path = f"v1/{parent}/jobs/wire"
    wire("POST", f"v1/{parent}/jobs", body)
    wire("POST", f"{path}:resume", {})
    _echoed(wire("GET", path), body)
    assert wire("PATCH", path, {**body, "schedule": "0 4 * * *"})["schedule"] == "0 4 * * *"
    wire("POST", f"{path}:pause", {})
    assert wire("GET", path)["state"] == "PAUSED"
    wire("DELETE", path)
    wire.gone(path)


def test_cloudbuildv2_connection_and_repository(wire):
    parent = f"v2/projects/{P}/locations/us-central1/connections"
    wire.lro("POST", f"{parent}?connectionId=wire", {"githubConfig": {}, "annotations": {"a": "b"}}, base="v2")
    got = wire("GET", f"{parent}/wire")
    _echoed(got, {"annotations": {"a": "b"}})
    wire.lro("PATCH", f"{parent}/wire", {"githubConfig": {}, "disabled": True, "etag": got["etag"]}, base="v2")
    assert "annotations" not in wire("GET", f"{parent}/wire")
    repository = {"remoteUri": "https://github.com/marin-community/marin.git", "name": "marin"}
    wire.lro("POST", f"{parent}/wire/repositories?repositoryId=marin", repository, base="v2")
    assert wire("GET", f"{parent}/wire/repositories/marin")["remoteUri"] == repository["remoteUri"]
    wire.lro("DELETE", f"{parent}/wire/repositories/marin", base="v2")
    wire.lro("DELETE", f"{parent}/wire", base="v2")
    wire.gone(f"{parent}/wire")


def test_cloudbuild_trigger(wire):
    parent = f"v1/projects/{P}/locations/us-central1/triggers"
    topic = f"projects/{P}/topics/triggered"
    wire("PUT", f"v1/{topic}", {})
    body = {
        "name": "wire",
        "description": "d",
        "disabled": True,
        "tags": ["a"],
        "substitutions": {"_X": ""},
        "pubsubConfig": {"topic": topic},
        "build": {
            "steps": [{"id": "one", "name": "debian", "entrypoint": "sh", "args": ["a"], "env": ["B=$$c"]}],
            "timeout": "7200s",
            "queueTtl": "3600s",
            "logsBucket": "gs://logs",
            "options": {"diskSizeGb": "100", "logging": "GCS_ONLY", "machineType": "E2_HIGHCPU_8"},
        },
    }
    made = wire("POST", parent, body)
    _echoed(wire("GET", f"{parent}/{made['id']}"), body)
    assert made["substitutions"] == {"_X": ""}
    whole = {**body, "id": made["id"], "disabled": False, "description": "new", "approvalConfig": {}}
    whole.pop("tags")
    changed = wire("PATCH", f"{parent}/{made['id']}", whole)
    assert "tags" not in changed
    assert changed["description"] == "new"
    wire("DELETE", f"{parent}/{made['id']}")
    wire.gone(f"{parent}/{made['id']}")
