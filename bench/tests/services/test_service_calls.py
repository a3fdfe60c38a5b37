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
POOL = f"{P}/locations/global/workloadIdentityPools/pool"
GLOBAL, REGION = f"compute/beta/{P}/global", f"compute/beta/{P}/regions/us-east5"
NAT = {"name": "nat", "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS"}
LINK = f"https://www.googleapis.com/compute/v1/{P}/regions/us-east5/subnetworks/sub"
RULE = {"name": "ssh", "network": f"{P}/global/networks/net", "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}]}
NODE = {"acceleratorType": "v5p-8", "runtimeVersion": "v2-alpha-tpuv5"}
INSIDE = {"networkConfig": {"network": "net", "subnetwork": f"{P}/regions/us-east5/subnetworks/sub"}}

CALLS: dict[str, list[Row]] = {
    "artifact registry": [
        ("POST", f"v1/{R}/repositories?repository_id=marin", {"format": "DOCKER", "dockerConfig": {},
         "cleanupPolicies": {
            "old": {"action": "DELETE", "condition": {"olderThan": "30d"}}}}, 200),
        ("GET", f"v1/{R}/repositories/marin", None, 200),
        ("POST", f"v1/{R}/repositories?repositoryId=marin", {"format": "DOCKER"}, 409),
        ("POST", f"v1/{R}/repositories?repositoryId=a%20b", {"format": "DOCKER"}, 400),
        ("POST", f"v1/{R}/repositories?repositoryId=formless", {}, 400),
        ("POST", f"v1/{P}/locations/mars/repositories?repositoryId=m", {"format": "DOCKER"}, 404),
        ("PATCH", f"v1/{R}/repositories/marin?updateMask=labels", {"labels": {"a": "b"}, "description": "ignored"},
         200),
        ("PATCH", f"v1/{R}/repositories/marin?updateMask=labels", {"labels": {"A": "b"}}, 400),
        ("PATCH", f"v1/{R}/repositories/marin?updateMask=labels", {}, 200),
        ("GET", f"v1/{R}/repositories/marin/packages/i/tags", None, 200),
        ("GET", f"v1/{R}/repositories/none/packages/i/tags", None, 404),
        ("POST", f"v1/{R}/repositories?repositoryId=b", {"format": "PYTHON"}, 200),
        ("GET", f"v1/{R}/repositories?pageSize=1", None, 200),
        ("GET", f"v1/{R}/repositories?pageSize=1&pageToken=%25", None, 400),
        ("GET", f"v1/{R}/repositories?filter=format%3DDOCKER", None, 200),
        ("DELETE", f"v1/{R}/repositories/marin", None, 200),
        ("GET", f"v1/{R}/repositories/marin", None, 404),
    ],
    "billing": [
        ("POST", "v1/billingAccounts/01-02/budgets", {"displayName": "a", "amount": {"specifiedAmount": {"units":
         "25"}}},
         200),
        ("PATCH", "v1/billingAccounts/01-02/budgets/00000000-0000-4000-8000-000000000001?updateMask=displayName",
         {"displayName": "b"}, 200),
        ("GET", "v1/billingAccounts/01-02/budgets", None, 200),
    ],
    "run and scheduler": [
        ("POST", f"v2/{R}/services?serviceId=broker", {"template": {**IMAGE, "serviceAccount": ACCOUNT}}, 400),
        ("POST", f"v2/{R}/services?serviceId=broker", {"template": IMAGE}, 200),
        ("GET", f"v2/{R}/services/broker", None, 200),
        ("PATCH", f"v2/{R}/services/broker", {"template": IMAGE, "description": "d"}, 200),
        ("GET", f"v2/{R}/services/broker", None, 200),
        ("POST", f"v2/{R}/jobs?jobId=sweep", {"template": {"template": IMAGE}}, 200),
        ("PUT", f"v1/{P}/topics/weekly", {}, 200),
        ("POST", f"v1/{R}/jobs", {"name": f"{R}/jobs/clock", "schedule": "*/2 * * * *", "httpTarget": {
            "uri": f"https://run.googleapis.com/v2/{R}/jobs/sweep:run"}}, 200),
        ("POST", f"v1/{R}/jobs/clock:run", {}, 200),
        ("GET", f"v2/{R}/jobs/sweep", None, 200),
        ("DELETE", f"v2/{R}/jobs/sweep", None, 200),
        ("POST", f"v1/{R}/jobs/clock:run", {}, 200),
        ("POST", f"v1/{R}/jobs/clock:pause", {}, 200),
        ("POST", f"v1/{R}/jobs/clock:resume", {}, 200),
        ("PATCH", f"v1/{R}/jobs/clock", {"schedule": "0 4 * * *", "timeZone": "America/New_York"}, 200),
        ("PATCH", f"v1/{R}/jobs/clock?updateMask=description", {"description": "d", "schedule": "ignored"}, 200),
        *(("POST", f"v1/{R}/jobs", {"name": f"{R}/jobs/none", **wrong}, code) for wrong, code in (
            ({"schedule": "0 3 * *"}, 400), ({"schedule": "0 3 31 2 *"}, 400), ({"schedule": "every 24 hours"}, 400),
            ({"schedule": "0 3 * * *", "timeZone": "Mars/Olympus"}, 400),
            ({"schedule": "0 3 * * *", "pubsubTarget": {"topicName": f"{P}/topics/none"}}, 404))),
        ("POST", f"v1/{R}/jobs", {"name": f"{R}/jobs/told", "schedule": "0 3 * * *", "pubsubTarget": {
            "topicName": f"{P}/topics/weekly", "attributes": {"a": "b"}}}, 200),
        ("DELETE", f"v1/{P}/topics/weekly", None, 200),
        ("POST", f"v1/{R}/jobs/told:run", {}, 200),
        ("DELETE", f"v1/{R}/jobs/clock", None, 200),
        ("GET", f"v1/{R}/jobs/clock", None, 404),
    ],
    "pubsub": [
        ("PUT", f"v1/{P}/topics/kept", {"messageStoragePolicy": {
            "enforceInTransit": False, "allowedPersistenceRegions": ["us-east1"]}}, 200),
        ("PUT", f"v1/{P}/topics/t", {"labels": {"a": "b"}}, 200),
        ("PATCH", f"v1/{P}/topics/t?updateMask=labels", {"topic": {"labels": {"a": "c"}}}, 200),
        ("PATCH", f"v1/{P}/topics/t", {"topic": {"labels": {"b": "d"}}, "updateMask": "labels.b"}, 200),
        ("POST", f"v1/{P}/topics/t:publish", {"messages": [{"data": "YQ=="}, {"data": "YQ=="}]}, 200),
        ("POST", f"v1/{P}/topics/none:publish", {"messages": [{"data": "YQ=="}]}, 404),
        ("GET", f"v1/{P}/subscriptions", None, 501),
    ],
    "monitoring and logging": [
        ("POST", f"v3/{P}/notificationChannels", EMAIL, 200),
        ("POST", f"v3/{P}/alertPolicies", {"displayName": "p", "conditions": [{"displayName": "c"}], "enabled": False,
         "notificationChannels": [f"{P}/notificationChannels/1000000000000000001"]}, 200),
        ("POST", f"v3/{P}/alertPolicies", {"notificationChannels": [f"{P}/notificationChannels/1"]}, 404),
        ("PATCH", f"v3/{P}/alertPolicies/1000000000000000001?updateMask=severity", {"severity": "ERROR"}, 200),
        ("PATCH", f"v3/{P}/alertPolicies/1000000000000000001?updateMask=enabled", {}, 200),
        ("DELETE", f"v3/{P}/notificationChannels/1000000000000000001", None, 400),
        ("PATCH", f"v3/{P}/alertPolicies/1000000000000000001?updateMask=notificationChannels", {}, 200),
        ("DELETE", f"v3/{P}/notificationChannels/1000000000000000001", None, 200),
        ("POST", f"v1/{P}/dashboards", {"displayName": "a", "gridLayout": {"columns": "2"}}, 200),
        ("PATCH", f"v1/{P}/dashboards/1000000000000000001", {"displayName": "b"}, 200),
        ("PATCH", f"v1/{P}/dashboards/1000000000000000001", {"displayName": "c", "etag": "c3RhbGU="}, 409),
        ("POST", f"v2/{P}/metrics", {"name": "m", "filter": "a"}, 200),
        ("PUT", f"v2/{P}/metrics/m", {"filter": "b"}, 200),
        ("POST", "v2/entries:write", {"resource": {"type": "tpu_worker"}, "entries": [
            {"logName": f"{P}/logs/l", "timestamp": f"2026-11-2{day}T00:00:00Z", "textPayload": day} for day in "231"]},
         200),
        ("POST", "v2/entries:write", {"entries": [{"textPayload": "whose"}]}, 400),
        ("POST", "v2/entries:list", {"resourceNames": [P], "orderBy": "timestamp desc", "pageSize": 2}, 200),
        ("POST", "v2/entries:list", {"resourceNames": [P], "filter": 'timestamp<"2026-11-22T12:00:00Z"'}, 200),
        ("POST", "v2/entries:list", {"resourceNames": ["projects/other"]}, 200),
    ],
    "kms": [
        ("POST", f"v1/{R}/keyRings?keyRingId=ring", {}, 200),
        ("POST", f"v1/{R}/keyRings?keyRingId=ring", {}, 409),
        ("DELETE", f"v1/{R}/keyRings/ring", None, 501),
        ("POST", f"v1/{R}/keyRings/ring/cryptoKeys?cryptoKeyId=k", {"purpose": "MAC"}, 400),
        ("POST", f"v1/{R}/keyRings/ring/cryptoKeys?cryptoKeyId=k", {"purpose": "ENCRYPT_DECRYPT", "labels": {"a": "b"},
         "rotationPeriod": "7776000s"}, 200),
        ("PATCH", f"v1/{R}/keyRings/ring/cryptoKeys/k?updateMask=rotationPeriod", {}, 200),
        ("POST", f"v1/{R}/keyRings/ring/cryptoKeys/k:encrypt", {"plaintext": "YWJj", "plaintextCrc32c": "910901175"},
         200),
        ("POST", f"v1/{R}/keyRings/ring/cryptoKeys/k:decrypt", {"ciphertext": "YWJj"}, 400),
        ("GET", f"v1/{R}/keyRings/none/cryptoKeys", None, 404),
    ],
    "secrets": [
        ("POST", f"v1/{P}/secrets?secretId=s", {}, 400),
        ("POST", f"v1/{P}/secrets?secretId=s", {"replication": {"automatic": {}}}, 200),
        ("GET", f"v1/{NUMBER}/secrets/s/versions/latest", None, 404),
        *(("POST", f"v1/{P}/secrets/s:setIamPolicy", body, code) for body, code in (
            ({"policy": {"bindings": []}}, 200), ({"policy": {"etag": "ACAB"}}, 409))),
        ("POST", f"v1/{P}/secrets/s:addVersion", {"payload": {"data": "YWJj", "dataCrc32c": "910901175"}}, 200),
        ("POST", f"v1/{P}/secrets/s:addVersion", {"payload": {"data": ""}}, 400),
        *(("POST", f"v1/{P}/secrets/s:addVersion", {"payload": {"data": text}}, 200) for text in ("-_8", "+/8=")),
        ("GET", f"v1/{P}/secrets/s/versions/2:access", None, 200),
        ("GET", f"v1/{P}/secrets/s/versions", None, 200),
        ("POST", f"v1/{P}/secrets/s/versions/latest:disable", {}, 200),
        ("GET", f"v1/{P}/secrets/s/versions/latest:access", None, 400),
        ("POST", f"v1/{P}/secrets/s/versions/3:enable", {}, 200),
        ("POST", f"v1/{P}/secrets/s/versions/3:destroy", {}, 200),
        ("POST", f"v1/{P}/secrets/s/versions/3:enable", {}, 400),
        ("DELETE", f"v1/{P}/secrets/s", None, 200),
        ("POST", f"v1/{P}/secrets?secretId=s", {"replication": {"automatic": {}}}, 200),
        ("GET", f"v1/{P}/secrets/s/versions", None, 200),
        ("POST", f"v1/{P}/secrets/s:addVersion", {"payload": {"data": "YWJj"}}, 200),
    ],
    "stores": [
        ("POST", f"v1beta1/{R}/instances?instanceId=locks", {"tier": "BASIC", "memorySizeGb": 1}, 200),
        ("GET", f"v1beta1/{R}/instances/locks", None, 200),
        ("PATCH", f"v1beta1/{R}/instances/locks?updateMask=memorySizeGb", {"memorySizeGb": 5}, 200),
        ("GET", f"v1beta1/{R}/instances/locks", None, 200),
        ("POST", f"v1/{P}/databases?databaseId=locks", {"locationId": "nam5", "type": "FIRESTORE_NATIVE",
         "deleteProtectionState": "DELETE_PROTECTION_ENABLED"}, 200),
        ("DELETE", f"v1/{P}/databases/locks", None, 400),
        ("PATCH", f"v1/{P}/databases/locks?updateMask=deleteProtectionState",
         {"deleteProtectionState": "DELETE_PROTECTION_DISABLED"}, 200),
        ("GET", f"v1/{P}/databases/locks", None, 200),
        ("DELETE", f"v1/{P}/databases/locks", None, 200),
        ("POST", f"v1/{P}/databases/locks/documents:beginTransaction", {}, 501),
    ],
    "projects and accounts": [
        ("GET", "v1/projects/a-lab", None, 200),
        ("GET", f"v3/{NUMBER}", None, 200),
        ("POST", "v1/projects/a-lab:testIamPermissions", {"permissions": ["a.b.c"]}, 200),
        ("GET", f"v1/{P}/services?filter=state:ENABLED&fields=services/name,nextPageToken", None, 200),
        ("POST", f"v1/{P}/services:batchEnable", {"serviceIds": ["tpu.googleapis.com", "source.googleapis.com"]}, 200),
        ("POST", f"v1/{NUMBER}/services/tpu.googleapis.com:enable", {}, 200),
        ("GET", "v1beta1/operations/noop.DONE_OPERATION", None, 200),
        ("GET", f"v1/{P}/services?filter=state:ENABLED", None, 200),
        ("GET", f"v1/{P}/services/tpu.googleapis.com", None, 200),
        ("POST", f"v1/{P}/services/teapot.googleapis.com:enable", {}, 403),
        ("POST", f"v1/{P}/serviceAccounts", {"accountId": "runner", "serviceAccount": {"displayName": "r"}}, 200),
        ("POST", f"v1/{P}/serviceAccounts", {"accountId": "runner"}, 409),
        ("GET", f"v1/projects/-/serviceAccounts/{ACCOUNT}", None, 200),
        ("PATCH", f"v1/{P}/serviceAccounts/{ACCOUNT}",
         {"serviceAccount": {"displayName": "n", "description": "ignored"}, "updateMask": "display_name"}, 200),
        ("GET", f"v1/{P}/serviceAccounts", None, 200),
        ("GET", "v1/projects/other-lab/serviceAccounts", None, 200),
        ("DELETE", f"v1/{P}/serviceAccounts/{ACCOUNT}", None, 200),
        ("GET", f"v1/{P}/serviceAccounts/{ACCOUNT}", None, 404),
    ],
    "federation": [
        ("POST", f"v1/{P}/locations/global/workloadIdentityPools?workloadIdentityPoolId=pool", {}, 200),
        ("GET", f"v1/{POOL}", None, 200),
        ("POST", f"v1/{POOL}/providers?workloadIdentityPoolProviderId=g", OIDC, 200),
        ("PATCH", f"v1/{POOL}/providers/g?updateMask=attributeCondition", {"attributeCondition": "assertion.a"}, 200),
        ("GET", f"v1/{POOL}/providers/g", None, 200),
        ("GET", f"v1/{POOL}:listAttestationRules", None, 200),
        *(("POST", f"v1/{POOL}/providers?workloadIdentityPoolProviderId=x", {**OIDC, **wrong}, 400) for wrong in (
            {"attributeCondition": "assertion.repository = 'a/b'"},
            {"attributeCondition": "assertion.repository == 'a/b"},
            {"attributeCondition": "assertion.repository.beginsWith('a/')"},
            {"attributeCondition": "'assertion.repository'"},
            {"attributeCondition": "'a' + assertion.repository"},
            {"attributeCondition": "attribute.branch == 'a' && assertion.sub != ''"},
            {"attributeCondition": "repository == 'a/b' || assertion.x"},
            {"attributeCondition": "google.subject == 'a'"},
            *({"attributeCondition": macro} for macro in (
                "assertion.aud.all()", "all(assertion.aud)", "assertion.aud.exists({}, true)")),
            {"attributeMapping": {"google.subject": "assertion."}},
            {"attributeMapping": {"google.subject": "attribute.other"}})),
        ("POST", f"v1/{POOL}/providers?workloadIdentityPoolProviderId=y", {
            "oidc": GITHUB, "attributeMapping": {
                "google.subject": "'repo::' + assertion.repository", "attribute.owner":
                 "{'1': 'us'}[assertion.owner_id]",
                "attribute.main": "assertion.ref == 'refs/heads/main' ? 'yes' : 'no'"},
            "attributeCondition":
             "attribute.owner in ['us'] && !has(assertion.fork) && assertion.aud.exists(a, a != '')"},
         200),
        ("DELETE", f"v1/{POOL}", None, 200),
        ("GET", f"v1/{POOL}", None, 200),
        ("DELETE", f"v1/{POOL}", None, 404),
        ("POST", f"v1/{P}/locations/global/workloadIdentityPools?workloadIdentityPoolId=pool", {}, 409),
    ],
    "networks": [
        ("POST", f"{GLOBAL}/networks", {"name": "net", "autoCreateSubnetworks": False, "routingConfig": {
            "routingMode": "REGIONAL", "deleteBgpAlwaysCompareMed": False}}, 200),
        ("GET", f"{GLOBAL}/networks/net", None, 200),
        ("PATCH", f"{GLOBAL}/networks/net", {"routingConfig": {"routingMode": "GLOBAL"}, "name": "x"}, 200),
        ("GET", f"{GLOBAL}/networks/net", None, 200),
        ("GET", f"{GLOBAL}/operations/none", None, 404),
        ("GET", f"{GLOBAL}/operations/operation-1795248001000-000000000001", None, 200),
        ("POST", f"{GLOBAL}/operations/operation-1795248001000-000000000001/wait", None, 200),
        ("GET", f"compute/v1/{NUMBER}", None, 200),
        ("POST", f"{REGION}/subnetworks", {"name": "sub", "network": f"{P}/global/networks/net", "region": "x",
         "ipCidrRange": "10.0.0.0/16", "logConfig": {"enable": True}}, 200),
        ("POST", f"{REGION}/subnetworks", {"name": "b", "network": "none", "ipCidrRange": "10.0.0.0/16"}, 404),
        ("POST", f"{REGION}/subnetworks", {"name": "b", "network": "global/networks/none"}, 404),
        ("POST", f"{REGION}/subnetworks", {"name": "b", "network": "global/networks/net", "ipCidrRange": "10.0.0.1/16"},
         400),
        ("POST", f"compute/beta/{P}/regions/mars/subnetworks", {"name": "b"}, 404),
        ("GET", f"{REGION}/subnetworks/sub", None, 200),
        ("POST", f"{REGION}/subnetworks/sub/setPrivateIpGoogleAccess", {"privateIpGoogleAccess": True}, 200),
        ("POST", f"{REGION}/subnetworks/sub/expandIpCidrRange", {"ipCidrRange": "10.4.0.0/14"}, 200),
        ("PATCH", f"{REGION}/subnetworks/sub", {"logConfig": {"enable": False}, "fingerprint": "c3RhbGU="}, 412),
        ("PATCH", f"{REGION}/subnetworks/sub", {"logConfig": {"enable": False}}, 200),
        ("GET", f"{REGION}/subnetworks", None, 200),
        ("POST", f"{REGION}/routers", {"name": "r", "network": f"{P}/global/networks/net"}, 200),
        ("PATCH", f"{REGION}/routers/r", {"nats": [{**NAT, "subnetworks": [{"name": LINK}], "initialNatIps": None}]},
         200),
        ("PATCH", f"{REGION}/routers/r", {"nats": [{**NAT, "subnetworks": [{"name": f"{LINK}x"}]}]}, 404),
        ("PATCH", f"{REGION}/routers/r", {"description": "kept"}, 200),
        ("GET", f"{REGION}/routers/r", None, 200),
        ("PATCH", f"{REGION}/routers/r", {"nats": []}, 200),
        ("GET", f"{REGION}/routers/r", None, 200),
        ("POST", f"{GLOBAL}/firewalls", RULE, 200),
        ("PATCH", f"{GLOBAL}/firewalls/ssh", {"direction": "EGRESS", "disabled": True}, 200),
        ("GET", f"{GLOBAL}/firewalls/ssh", None, 200),
        ("PATCH", f"{GLOBAL}/firewalls/ssh", {"sourceRanges": ["10.0.0.0/8"]}, 200),
        ("GET", f"{GLOBAL}/firewalls?filter=name%3Dssh", None, 200),
        ("POST", f"v2/{P}/locations/us-east5-a/nodes?nodeId=vm", {**NODE, **INSIDE}, 200),
        ("DELETE", f"{REGION}/subnetworks/sub", None, 400),
        ("DELETE", f"v2/{P}/locations/us-east5-a/nodes/vm", None, 200),
        ("DELETE", f"{GLOBAL}/networks/net", None, 400),
        *(("DELETE", path, None, 200) for path in (
            f"{GLOBAL}/firewalls/ssh", f"{REGION}/routers/r", f"{REGION}/subnetworks/sub", f"{GLOBAL}/networks/net")),
        ("DELETE", f"{GLOBAL}/networks/default", None, 200),
        ("GET", f"{GLOBAL}/networks", None, 200),
        ("GET", f"{REGION}/subnetworks", None, 200),
        ("GET", "compute/v1/projects/fresh/global/networks", None, 200),
        ("GET", "compute/v1/projects/fresh/regions/africa-south1/subnetworks/default", None, 200),
        ("POST", f"{REGION}/resourcePolicies", {"name": "p", "workloadPolicy": {"type": "HIGH_THROUGHPUT"}}, 200),
        ("GET", f"{REGION}/resourcePolicies/p", None, 200),
    ],
    "storage": [
        ("POST", "storage/v1/b?project=a-lab", {"name": "b", "location": "us-east1", "labels": {"a": "b"},
         "versioning": {
            "enabled": True}, "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}}}, 200),
        ("GET", "storage/v1/b/b", None, 200),
        ("POST", "storage/v1/b?project=a-lab", {"name": "b"}, 409),
        ("POST", "storage/v1/b", {"name": "c"}, 400),
        ("PATCH", "storage/v1/b/b?ifMetagenerationMatch=1", {"labels": {"a": None, "c": "d"}, "lifecycle": None}, 200),
        ("PATCH", "storage/v1/b/b?ifMetagenerationMatch=1", {}, 412),
        ("PATCH", "storage/v1/b/b", {"labels": {"A": "b"}}, 400),
        ("GET", "storage/v1/b?project=other", None, 200),
        ("GET", "storage/v1/b?project=a-lab&prefix=b", None, 200),
        ("GET", "storage/v1/b/b/iam", None, 200),
        ("GET", "storage/v1/b/b/anywhereCaches/", None, 200),
        ("GET", "storage/v1/b/b/managedFolders", None, 200),
        ("GET", "storage/v1/b/b/storageLayout", None, 200),
        ("POST", "upload/storage/v1/b/b/o?uploadType=media&name=d/a&ifGenerationMatch=0", "one", 200),
        ("POST", "upload/storage/v1/b/b/o?uploadType=media&name=d/a&ifGenerationMatch=0", "two", 412),
        ("POST", "upload/storage/v1/b/b/o?uploadType=resumable&name=d/a", None, 501),
        ("POST", "upload/storage/v1/b/none/o?uploadType=media&name=a", "one", 404),
        ("GET", "storage/v1/b/b/o/d%2Fa?alt=media", None, 200),
        ("GET", "storage/v1/b/b/o/d%2Fa?ifGenerationMatch=7", None, 412),
        ("PATCH", "storage/v1/b/b/o/d%2Fa", {"metadata": {"a": "b"}, "size": "9"}, 200),
        ("POST", "storage/v1/b/b/o/d%2Fa/rewriteTo/b/b/o/e", {}, 200),
        ("POST", "storage/v1/b/b/o/d%2Fa/rewriteTo/b/b/o/f?ifSourceGenerationMatch=7", {}, 412),
        *(("GET", f"storage/v1/b/b/o?delimiter=/{more}", None, 200) for more in ("", "&maxResults=1")),
        ("GET", "storage/v1/b/b/o?prefix=d/&delimiter=/", None, 200),
        ("GET", "storage/v1/b/b/o?softDeleted=true", None, 200),
        ("DELETE", "storage/v1/b/b/o/e", None, 204),
        ("GET", "storage/v1/b/b/o/e", None, 404),
        ("DELETE", "storage/v1/b/b", None, 409),
        ("GET", "storage/v1/b/b/o?versions=true", None, 200),
        ("DELETE", "storage/v1/b/b/o/d%2Fa", None, 204),
        ("DELETE", "storage/v1/b/b", None, 204),
        ("GET", "storage/v1/b/b", None, 404), ("POST", "storage/v1/b?project=a-lab", {"name": "c"}, 200),
        ("POST", "storage/v1/b/c/o", {"name": "n", "size": "9", "cacheControl": None, "contentType": "text/x"}, 200),
        *(("PUT", "storage/v1/b/c/iam", {"bindings": [{"role": role, "members": ["allUsers"]}]}, code)
          for role, code in (("roles/storage.objectViewer", 200), ("roles/storage.reader", 400))),
        ("GET", "storage/v1/b/c/iam", None, 200),
    ],
}  # fmt: skip


@pytest.mark.parametrize("service", CALLS)
def test_a_service_answers_each_call(service: str, update_goldens: bool) -> None:
    compared(Direct().check(CALLS[service]), service, update_goldens)
