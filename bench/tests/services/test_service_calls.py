"""What each service answers, call by call: one table a service, as Google's provider and the fleet's clients ask.

A row is a verb, a path, a body, the status of the answer, and the part of the answer that counts. Rows of a service
build on those before them; a second of cloud time passes before each, so operations have ended. Every answer is held to
its discovery document besides.
"""

from __future__ import annotations

import pytest

from bench.tests.cloud.cloud_clients import Direct, Row, compared

P = "projects/a-lab"
NUMBER = "projects/610992121312"
R = f"{P}/locations/us-central1"
ACCOUNT = "runner@a-lab.iam.gserviceaccount.com"
IMAGE = {"containers": [{"image": "us-docker.pkg.dev/a/b/c"}]}
EMAIL = {"type": "email", "labels": {"email_address": "a@b.org"}}
GITHUB = {"issuerUri": "https://token.actions.githubusercontent.com"}
MAPPED = {"google.subject": "assertion.sub", "attribute.owner": "assertion.owner"}
OIDC = {
    "attributeMapping": MAPPED,
    "attributeCondition": "attribute.owner == 'a' && assertion.ref != 'x'",
    "oidc": GITHUB,
}
GLOBAL, REGION = f"compute/beta/{P}/global", f"compute/beta/{P}/regions/us-east5"
NAT = {"name": "nat", "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS"}
LINK = f"https://www.googleapis.com/compute/v1/{P}/regions/us-east5/subnetworks/sub"
RULE = {"name": "ssh", "network": f"{P}/global/networks/net", "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}]}
NODE = {"acceleratorType": "v5p-8", "runtimeVersion": "v2-alpha-tpuv5"}
INSIDE = {"networkConfig": {"network": "net", "subnetwork": f"{P}/regions/us-east5/subnetworks/sub"}}

CALLS: dict[str, list[Row]] = {
    "artifact registry": [
        ("POST", "?repository_id=marin", {"format": "DOCKER", "dockerConfig": {},
         "cleanupPolicies": {
            "old": {"action": "DELETE", "condition": {"olderThan": "30d"}}}}),
        "/marin",
        ("POST", "?repositoryId=marin", {"format": "DOCKER"}, 409),
        ("POST", "?repositoryId=a%20b", {"format": "DOCKER"}, 400),
        ("POST", "?repositoryId=formless", {}, 400),
        ("PATCH", "/marin?updateMask=labels", {"labels": {"a": "b"}, "description": "ignored"}),
        ("PATCH", "/marin?updateMask=labels", {"labels": {"A": "b"}}, 400),
        ("PATCH", "/marin?updateMask=labels", {}),
        "/marin/packages/i/tags",
        ("GET", "/none/packages/i/tags", None, 404),
        ("POST", "?repositoryId=b", {"format": "PYTHON"}),
        "?pageSize=1",
        ("GET", "?pageSize=1&pageToken=%25", None, 400),
        "?filter=format%3DDOCKER",
        ("DELETE", "/marin"),
        ("GET", "/marin", None, 404),
    ],
    "billing": [
        ("POST", "v1/billingAccounts/01-02/budgets", {"displayName": "a", "amount": {"specifiedAmount": {"units":
         "25"}}}),
        ("PATCH", "v1/billingAccounts/01-02/budgets/00000000-0000-4000-8000-000000000001?updateMask=displayName",
         {"displayName": "b"}),
        "v1/billingAccounts/01-02/budgets",
    ],
    "run and scheduler": [
        ("POST", f"v2/{R}/services?serviceId=broker", {"template": {**IMAGE, "serviceAccount": ACCOUNT}}, 400),
        ("POST", f"v2/{R}/services?serviceId=broker", {"template": IMAGE}),
        f"v2/{R}/services/broker",
        ("PATCH", f"v2/{R}/services/broker", {"template": IMAGE, "description": "d"}),
        f"v2/{R}/services/broker",
        ("POST", f"v2/{R}/jobs?jobId=sweep", {"template": {"template": IMAGE}}),
        ("PUT", f"v1/{P}/topics/weekly", {}),
        ("POST", f"v1/{R}/jobs", {"name": f"{R}/jobs/clock", "schedule": "*/2 * * * *", "httpTarget": {
            "uri": f"https://run.googleapis.com/v2/{R}/jobs/sweep:run"}}),
        ("POST", f"v1/{R}/jobs/clock:run", {}),
        f"v2/{R}/jobs/sweep",
        ("DELETE", f"v2/{R}/jobs/sweep"),
        ("POST", f"v1/{R}/jobs/clock:run", {}),
        ("POST", f"v1/{R}/jobs/clock:pause", {}),
        ("POST", f"v1/{R}/jobs/clock:resume", {}),
        ("PATCH", f"v1/{R}/jobs/clock", {"schedule": "0 4 * * *", "timeZone": "America/New_York"}),
        ("PATCH", f"v1/{R}/jobs/clock?updateMask=description", {"description": "d", "schedule": "ignored"}),
        *(("POST", f"v1/{R}/jobs", {"name": f"{R}/jobs/none", **wrong}, code) for wrong, code in (
            ({"schedule": "0 3 * *"}, 400), ({"schedule": "0 3 31 2 *"}, 400), ({"schedule": "every 24 hours"}, 400),
            ({"schedule": "0 3 * * *", "timeZone": "Mars/Olympus"}, 400),
            ({"schedule": "0 3 * * *", "pubsubTarget": {"topicName": f"{P}/topics/none"}}, 404))),
        ("POST", f"v1/{R}/jobs", {"name": f"{R}/jobs/told", "schedule": "0 3 * * *", "pubsubTarget": {
            "topicName": f"{P}/topics/weekly", "attributes": {"a": "b"}}}),
        ("DELETE", f"v1/{P}/topics/weekly"),
        ("POST", f"v1/{R}/jobs/told:run", {}),
        ("DELETE", f"v1/{R}/jobs/clock"),
        ("GET", f"v1/{R}/jobs/clock", None, 404),
    ],
    "pubsub": [
        ("PUT", f"v1/{P}/topics/kept", {"messageStoragePolicy": {
            "enforceInTransit": False, "allowedPersistenceRegions": ["us-east1"]}}),
        ("PUT", f"v1/{P}/topics/t", {"labels": {"a": "b"}}),
        ("PATCH", f"v1/{P}/topics/t?updateMask=labels", {"topic": {"labels": {"a": "c"}}}),
        ("PATCH", f"v1/{P}/topics/t", {"topic": {"labels": {"b": "d"}}, "updateMask": "labels.b"}),
        ("POST", f"v1/{P}/topics/t:publish", {"messages": [{"data": "YQ=="}, {"data": "YQ=="}]}),
        ("POST", f"v1/{P}/topics/none:publish", {"messages": [{"data": "YQ=="}]}, 404),
        ("GET", f"v1/{P}/subscriptions", None, 501),
    ],
    "monitoring and logging": [
        ("POST", f"v3/{P}/notificationChannels", EMAIL),
        ("POST", f"v3/{P}/alertPolicies", {"displayName": "p", "conditions": [{"displayName": "c"}], "enabled": False,
         "notificationChannels": [f"{P}/notificationChannels/1000000000000000001"]}),
        ("POST", f"v3/{P}/alertPolicies", {"notificationChannels": [f"{P}/notificationChannels/1"]}, 404),
        ("PATCH", f"v3/{P}/alertPolicies/1000000000000000001?updateMask=severity", {"severity": "ERROR"}),
        ("PATCH", f"v3/{P}/alertPolicies/1000000000000000001?updateMask=enabled", {}),
        ("DELETE", f"v3/{P}/notificationChannels/1000000000000000001", None, 400),
        ("PATCH", f"v3/{P}/alertPolicies/1000000000000000001?updateMask=notificationChannels", {}),
        ("DELETE", f"v3/{P}/notificationChannels/1000000000000000001"),
        ("POST", f"v1/{P}/dashboards", {"displayName": "a", "gridLayout": {"columns": "2"}}),
        ("PATCH", f"v1/{P}/dashboards/1000000000000000001", {"displayName": "b"}),
        ("PATCH", f"v1/{P}/dashboards/1000000000000000001", {"displayName": "c", "etag": "c3RhbGU="}, 409),
        ("POST", f"v2/{P}/metrics", {"name": "m", "filter": "a"}),
        ("PUT", f"v2/{P}/metrics/m", {"filter": "b"}),
        ("POST", "v2/entries:write", {"resource": {"type": "tpu_worker"}, "entries": [
            {"logName": f"{P}/logs/l", "timestamp": f"2026-11-2{day}T00:00:00Z", "textPayload": day}
            for day in "231"]}),
        ("POST", "v2/entries:write", {"entries": [{"textPayload": "whose"}]}, 400),
        ("POST", "v2/entries:list", {"resourceNames": [P], "orderBy": "timestamp desc", "pageSize": 2}),
        ("POST", "v2/entries:list", {"resourceNames": [P], "filter": 'timestamp<"2026-11-22T12:00:00Z"'}),
        ("POST", "v2/entries:list", {"resourceNames": ["projects/other"]}),
    ],
    "kms": [
        ("POST", "?keyRingId=ring", {}),
        ("POST", "?keyRingId=ring", {}, 409),
        ("DELETE", "/ring", None, 501),
        ("POST", "/ring/cryptoKeys?cryptoKeyId=k", {"purpose": "MAC"}, 400),
        ("POST", "/ring/cryptoKeys?cryptoKeyId=k", {"purpose": "ENCRYPT_DECRYPT", "labels": {"a": "b"},
         "rotationPeriod": "7776000s"}),
        ("PATCH", "/ring/cryptoKeys/k?updateMask=rotationPeriod", {}),
        ("POST", "/ring/cryptoKeys/k:encrypt", {"plaintext": "YWJj", "plaintextCrc32c": "910901175"}),
        ("POST", "/ring/cryptoKeys/k:decrypt", {"ciphertext": "YWJj"}, 400),
        ("GET", "/none/cryptoKeys", None, 404),
    ],
    "secrets": [
        ("POST", "?secretId=s", {}, 400),
        ("POST", "?secretId=s", {"replication": {"automatic": {}}}),
        ("GET", "/s/versions/latest", None, 404),
        *(("POST", "/s:setIamPolicy", body, code) for body, code in (
            ({"policy": {"bindings": []}}, 200), ({"policy": {"etag": "ACAB"}}, 409))),
        ("POST", "/s:addVersion", {"payload": {"data": "YWJj", "dataCrc32c": "910901175"}}),
        ("POST", "/s:addVersion", {"payload": {"data": ""}}, 400),
        *(("POST", "/s:addVersion", {"payload": {"data": text}}) for text in ("-_8", "+/8=")),
        "/s/versions/2:access",
        "/s/versions",
        ("POST", "/s/versions/latest:disable", {}),
        ("GET", "/s/versions/latest:access", None, 400),
        ("POST", "/s/versions/3:enable", {}),
        ("POST", "/s/versions/3:destroy", {}),
        ("POST", "/s/versions/3:enable", {}, 400),
        ("DELETE", "/s"),
        ("POST", "?secretId=s", {"replication": {"automatic": {}}}),
        "/s/versions",
        ("POST", "/s:addVersion", {"payload": {"data": "YWJj"}}),
    ],
    "stores": [
        ("POST", f"v1beta1/{R}/instances?instanceId=locks", {"tier": "BASIC", "memorySizeGb": 1}),
        f"v1beta1/{R}/instances/locks",
        ("PATCH", f"v1beta1/{R}/instances/locks?updateMask=memorySizeGb", {"memorySizeGb": 5}),
        f"v1beta1/{R}/instances/locks",
        ("POST", f"v1/{P}/databases?databaseId=locks", {"locationId": "nam5", "type": "FIRESTORE_NATIVE",
         "deleteProtectionState": "DELETE_PROTECTION_ENABLED"}),
        ("PATCH", f"v1/{P}/databases/locks?updateMask=deleteProtectionState",
         {"deleteProtectionState": "DELETE_PROTECTION_DISABLED"}),
        f"v1/{P}/databases/locks",
        ("DELETE", f"v1/{P}/databases/locks"),
        ("POST", f"v1/{P}/databases/locks/documents:beginTransaction", {}, 501),
    ],
    "projects and accounts": [
        "v1/projects/a-lab",
        f"v3/{NUMBER}",
        ("POST", "v1/projects/a-lab:testIamPermissions", {"permissions": ["a.b.c"]}),
        f"v1/{P}/services?filter=state:ENABLED&fields=services/name,nextPageToken",
        ("POST", f"v1/{P}/services:batchEnable", {"serviceIds": ["tpu.googleapis.com", "source.googleapis.com"]}),
        ("POST", f"v1/{NUMBER}/services/tpu.googleapis.com:enable", {}),
        "v1beta1/operations/noop.DONE_OPERATION",
        f"v1/{P}/services?filter=state:ENABLED",
        f"v1/{P}/services/tpu.googleapis.com",
        ("POST", f"v1/{P}/services/teapot.googleapis.com:enable", {}, 403),
        ("POST", f"v1/{P}/serviceAccounts", {"accountId": "runner", "serviceAccount": {"displayName": "r"}}),
        ("POST", f"v1/{P}/serviceAccounts", {"accountId": "runner"}, 409),
        f"v1/projects/-/serviceAccounts/{ACCOUNT}",
        ("PATCH", f"v1/{P}/serviceAccounts/{ACCOUNT}",
         {"serviceAccount": {"displayName": "n", "description": "ignored"}, "updateMask": "display_name"}),
        f"v1/{P}/serviceAccounts",
        "v1/projects/other-lab/serviceAccounts",
        ("DELETE", f"v1/{P}/serviceAccounts/{ACCOUNT}"),
        ("GET", f"v1/{P}/serviceAccounts/{ACCOUNT}", None, 404),
    ],
    "federation": [
        ("POST", "?workloadIdentityPoolId=pool", {}),
        "/pool",
        ("POST", "/pool/providers?workloadIdentityPoolProviderId=g", OIDC),
        ("PATCH", "/pool/providers/g?updateMask=attributeCondition", {"attributeCondition": "assertion.a"}),
        "/pool/providers/g",
        "/pool:listAttestationRules",
        *(("POST", "/pool/providers?workloadIdentityPoolProviderId=x", {**OIDC, **wrong}, 400) for wrong in (
            *({"attributeCondition": text} for text in (
                "assertion.repository = 'a/b'", "assertion.repository == 'a/b", "'assertion.repository'",
                "'a' + assertion.repository", "repository == 'a/b' || assertion.x",
                "attribute.branch == 'a' && assertion.sub != ''", "google.subject == 'a'")),
            {"attributeMapping": {"google.subject": "assertion."}},
            {"attributeMapping": {"google.subject": "attribute.other"}})),
        ("POST", "/pool/providers?workloadIdentityPoolProviderId=y", {
            "oidc": GITHUB, "attributeMapping": {
                "google.subject": "'repo::' + assertion.repository", "attribute.owner":
                 "{'1': 'us'}[assertion.owner_id]",
                "attribute.main": "assertion.ref == 'refs/heads/main' ? 'yes' : 'no'"},
            "attributeCondition":
             "attribute.owner in ['us'] && !has(assertion.fork) && assertion.aud.exists(a, a != '')"}),
        ("DELETE", "/pool"),
        "/pool",
        ("DELETE", "/pool", None, 404),
        ("POST", "?workloadIdentityPoolId=pool", {}, 409),
    ],
    "networks": [
        ("POST", f"{GLOBAL}/networks", {"name": "net", "autoCreateSubnetworks": False, "routingConfig": {
            "routingMode": "REGIONAL", "deleteBgpAlwaysCompareMed": False}}),
        f"{GLOBAL}/networks/net",
        ("PATCH", f"{GLOBAL}/networks/net", {"routingConfig": {"routingMode": "GLOBAL"}, "name": "x"}),
        f"{GLOBAL}/networks/net",
        ("GET", f"{GLOBAL}/operations/none", None, 404),
        f"{GLOBAL}/operations/operation-1795248001000-000000000001",
        ("POST", f"{GLOBAL}/operations/operation-1795248001000-000000000001/wait"),
        f"compute/v1/{NUMBER}",
        ("POST", f"{REGION}/subnetworks", {"name": "sub", "network": f"{P}/global/networks/net", "region": "x",
         "ipCidrRange": "10.0.0.0/16", "logConfig": {"enable": True}}),
        ("POST", f"{REGION}/subnetworks", {"name": "b", "network": "none", "ipCidrRange": "10.0.0.0/16"}, 404),
        ("POST", f"{REGION}/subnetworks", {"name": "b", "network": "global/networks/none"}, 404),
        ("POST", f"{REGION}/subnetworks", {"name": "b", "network": "global/networks/net", "ipCidrRange": "10.0.0.1/16"},
         400),
        ("POST", f"compute/beta/{P}/regions/mars/subnetworks", {"name": "b"}, 404),
        f"{REGION}/subnetworks/sub",
        ("POST", f"{REGION}/subnetworks/sub/setPrivateIpGoogleAccess", {"privateIpGoogleAccess": True}),
        ("POST", f"{REGION}/subnetworks/sub/expandIpCidrRange", {"ipCidrRange": "10.4.0.0/14"}),
        ("PATCH", f"{REGION}/subnetworks/sub", {"logConfig": {"enable": False}, "fingerprint": "c3RhbGU="}, 412),
        ("PATCH", f"{REGION}/subnetworks/sub", {"logConfig": {"enable": False}}),
        f"{REGION}/subnetworks",
        ("POST", f"{REGION}/routers", {"name": "r", "network": f"{P}/global/networks/net"}),
        ("PATCH", f"{REGION}/routers/r", {"nats": [{**NAT, "subnetworks": [{"name": LINK}], "initialNatIps": None}]}),
        ("PATCH", f"{REGION}/routers/r", {"nats": [{**NAT, "subnetworks": [{"name": f"{LINK}x"}]}]}, 404),
        ("PATCH", f"{REGION}/routers/r", {"description": "kept"}),
        f"{REGION}/routers/r",
        ("PATCH", f"{REGION}/routers/r", {"nats": []}),
        f"{REGION}/routers/r",
        ("POST", f"{GLOBAL}/firewalls", RULE),
        ("PATCH", f"{GLOBAL}/firewalls/ssh", {"direction": "EGRESS", "disabled": True}),
        f"{GLOBAL}/firewalls/ssh",
        ("PATCH", f"{GLOBAL}/firewalls/ssh", {"sourceRanges": ["10.0.0.0/8"]}),
        f"{GLOBAL}/firewalls?filter=name%3Dssh",
        ("POST", f"v2/{P}/locations/us-east5-a/nodes?nodeId=vm", {**NODE, **INSIDE}),
        ("DELETE", f"{REGION}/subnetworks/sub", None, 400),
        ("DELETE", f"v2/{P}/locations/us-east5-a/nodes/vm"),
        ("DELETE", f"{GLOBAL}/networks/net", None, 400),
        *(("DELETE", path) for path in (
            f"{GLOBAL}/firewalls/ssh", f"{REGION}/routers/r", f"{REGION}/subnetworks/sub", f"{GLOBAL}/networks/net")),
        ("DELETE", f"{GLOBAL}/networks/default"),
        f"{GLOBAL}/networks",
        f"{REGION}/subnetworks",
        "compute/v1/projects/fresh/global/networks",
        "compute/v1/projects/fresh/regions/africa-south1/subnetworks/default",
        ("POST", f"{REGION}/resourcePolicies", {"name": "p", "workloadPolicy": {"type": "HIGH_THROUGHPUT"}}),
        f"{REGION}/resourcePolicies/p",
    ],
    "storage": [
        ("POST", "storage/v1/b?project=a-lab", {"name": "b", "location": "us-east1", "labels": {"a": "b"},
         "versioning": {
            "enabled": True}, "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}}}),
        "storage/v1/b/b",
        ("POST", "storage/v1/b?project=a-lab", {"name": "b"}, 409),
        ("POST", "storage/v1/b", {"name": "c"}, 400),
        ("PATCH", "storage/v1/b/b?ifMetagenerationMatch=1", {"labels": {"a": None, "c": "d"}, "lifecycle": None}),
        ("PATCH", "storage/v1/b/b?ifMetagenerationMatch=1", {}, 412),
        ("PATCH", "storage/v1/b/b", {"labels": {"A": "b"}}, 400),
        "storage/v1/b?project=other",
        "storage/v1/b?project=a-lab&prefix=b",
        "storage/v1/b/b/iam",
        "storage/v1/b/b/anywhereCaches/",
        "storage/v1/b/b/managedFolders",
        "storage/v1/b/b/storageLayout",
        ("POST", "upload/storage/v1/b/b/o?uploadType=media&name=d/a&ifGenerationMatch=0", "one"),
        ("POST", "upload/storage/v1/b/b/o?uploadType=media&name=d/a&ifGenerationMatch=0", "two", 412),
        ("POST", "upload/storage/v1/b/b/o?uploadType=resumable&name=d/a", None, 501),
        ("POST", "upload/storage/v1/b/none/o?uploadType=media&name=a", "one", 404),
        "storage/v1/b/b/o/d%2Fa?alt=media",
        ("GET", "storage/v1/b/b/o/d%2Fa?ifGenerationMatch=7", None, 412),
        ("PATCH", "storage/v1/b/b/o/d%2Fa", {"metadata": {"a": "b"}, "size": "9"}),
        ("POST", "storage/v1/b/b/o/d%2Fa/rewriteTo/b/b/o/e", {}),
        ("POST", "storage/v1/b/b/o/d%2Fa/rewriteTo/b/b/o/f?ifSourceGenerationMatch=7", {}, 412),
        *(f"storage/v1/b/b/o?delimiter=/{more}" for more in ("", "&maxResults=1")),
        "storage/v1/b/b/o?prefix=d/&delimiter=/",
        "storage/v1/b/b/o?softDeleted=true",
        ("DELETE", "storage/v1/b/b/o/e", None, 204),
        ("GET", "storage/v1/b/b/o/e", None, 404),
        ("DELETE", "storage/v1/b/b", None, 409),
        "storage/v1/b/b/o?versions=true",
        "storage/v1/b/b/o/e?generation=1795248021000000&alt=media",
        ("DELETE", "storage/v1/b/b/o/e?generation=1795248021000000", None, 204),
        ("DELETE", "storage/v1/b/b/o/d%2Fa?generation=1795248014000000", None, 204),
        ("DELETE", "storage/v1/b/b", None, 204),
        ("GET", "storage/v1/b/b", None, 404), ("POST", "storage/v1/b?project=a-lab", {"name": "c"}),
        ("POST", "storage/v1/b/c/o", {"name": "n", "size": "9", "cacheControl": None, "contentType": "text/x"}),
        *(("PUT", "storage/v1/b/c/iam", {"bindings": [{"role": role, "members": ["allUsers"]}]}, code)
          for role, code in (("roles/storage.objectViewer", 200), ("roles/storage.reader", 400))),
        "storage/v1/b/c/iam",
    ],
}  # fmt: skip
BASES = {
    "artifact registry": f"v1/{R}/repositories", "kms": f"v1/{R}/keyRings", "secrets": f"v1/{P}/secrets",
    "federation": f"v1/{P}/locations/global/workloadIdentityPools",
}  # fmt: skip
"""What the paths of a service begin with, where all begin alike."""


@pytest.mark.parametrize("service", CALLS)
def test_a_service_answers_each_call(service: str, update_goldens: bool) -> None:
    compared(Direct().check(CALLS[service], BASES.get(service, "")), service, update_goldens)
