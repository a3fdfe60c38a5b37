"""Programs that Google's provider refuses before any call, and programs that it takes although they look odd.

Source: schema and checks of the Terraform provider google-beta 7.45 and of Pulumi's overlay of it, 2026-11. Each row
was given to the official provider too (pulumi-gcp built from its public source, 2026-11), which says the same.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from bench.engine.provider import UNKNOWN
from bench.providers.google import GoogleProvider
from bench.providers.google.tables import TYPES

PROVIDER = GoogleProvider("http://127.0.0.1:1", "a-lab", region="us-west4", zone="us-west4-a")

TRIGGER = "gcp:cloudbuild/trigger:Trigger"
ACCOUNT = "gcp:serviceaccount/account:Account"
GRANT = "gcp:projects/iAMMember:IAMMember"
ON_ACCOUNT = "gcp:serviceaccount/iAMMember:IAMMember"
API = "gcp:projects/service:Service"
SECRET = "gcp:secretmanager/secret:Secret"
BUCKET = "gcp:storage/bucket:Bucket"
OBJECT = "gcp:storage/bucketObject:BucketObject"
SERVICE = "gcp:cloudrunv2/service:Service"
RUN_JOB = "gcp:cloudrunv2/job:Job"
JOB = "gcp:cloudscheduler/job:Job"
TOPIC = "gcp:pubsub/topic:Topic"
POOL = "gcp:iam/workloadIdentityPool:WorkloadIdentityPool"
IDENTITIES = "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider"
REPOSITORY = "gcp:artifactregistry/repository:Repository"
METRIC = "gcp:logging/metric:Metric"
POLICY = "gcp:monitoring/alertPolicy:AlertPolicy"
DASHBOARD = "gcp:monitoring/dashboard:Dashboard"
NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ROUTER = "gcp:compute/router:Router"
NAT = "gcp:compute/routerNat:RouterNat"
PLACEMENT = "gcp:compute/resourcePolicy:ResourcePolicy"
FIREWALL = "gcp:compute/firewall:Firewall"
VM = "gcp:tpu/v2Vm:V2Vm"
KEY = "gcp:kms/cryptoKey:CryptoKey"

LONG = {"steps": [{"name": "a", "timeout": "9h"}, {"name": "b", "timeout": "30m"}], "timeout": "14400s"}
STEP = {"name": "debian"}
RULE = {"name": "hosts", "network": "ci", "allows": [{"protocol": "tcp"}], "sourceRanges": ["10.0.0.0/8"]}
SENT = {"name": "job", "region": "us-west4", "schedule": "* * * * *"}
CALLED = {"uri": "https://a.example", "httpMethod": "POST"}
TOLD = {"topicName": "projects/a-lab/topics/build"}
RUN = {"name": "broker", "location": "us-west4"}
TEMPLATE = {"containers": [{"image": "image"}]}
DOCKER = {"repositoryId": "images", "location": "us-west4", "format": "DOCKER"}
ALERT = {"displayName": "a", "combiner": "OR", "conditions": [{"displayName": "c"}]}
LOGS = {"name": "m", "filter": "f"}
MANY = [f"a{index}@b.iam.gserviceaccount.com" for index in range(11)]
TPU = {"name": "tpu", "zone": "us-west4-a", "runtimeVersion": "v2-alpha-tpuv5-lite"}
HELD = {"secretId": "s", "replication": {"auto": {}}}
OIDC = {
    "workloadIdentityPoolId": "pool",
    "workloadIdentityPoolProviderId": "github",
    "oidc": {"issuerUri": "https://token.actions.githubusercontent.com"},
}
OUT = {
    "name": "out",
    "router": "ci",
    "region": "us-west4",
    "natIpAllocateOption": "AUTO_ONLY",
    "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
}

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (PLACEMENT, {"groupPlacementPolicy": {}, "diskConsistencyGroupPolicy": {"enabled": True}}, "only one of group"),
    (TRIGGER, {"build": LONG}, r"Step timeout sum \(9h30m0s\) cannot be greater than build timeout \(4h0m0s\)"),
    (TRIGGER, {"build": {"steps": [{**STEP, "timeout": "601s"}]}}, r"\(10m1s\) cannot be greater .* \(10m0s\)"),
    (TRIGGER, {"build": {"steps": [STEP], "timeout": "600"}}, "Error parsing build timeout"),
    (TRIGGER, {"build": {"steps": [{**STEP, "timeout": "1d"}]}}, "Error parsing build step timeout"),
    (TRIGGER, {"name": "t"}, "one of build, filename must be specified"),
    (TRIGGER, {"filename": "f", "build": {"steps": [STEP]}}, "only one of build, filename can be specified"),
    (TRIGGER, {"filename": "f", "includeBuildLogs": "ALL"}, "expected one of INCLUDE_BUILD_LOGS_UNSPECIFIED"),
    (TRIGGER, {"build": {"steps": [STEP], "options": {"logging": "ALL"}}}, "expected one of LOGGING_UNSPECIFIED"),
    (ACCOUNT, {"accountId": "five5"}, "6 to 30"),
    (ACCOUNT, {"accountId": "runner", "description": "x" * 257}, "at most 256"),
    (GRANT, {"project": "p", "role": "r", "member": "deleted-user"}, "was deleted"),
    (GRANT, {"project": "p", "role": "r", "member": "somebody"}, "is not a member"),
    (
        GRANT,
        {"project": "p", "role": "r", "member": "user:a@b", "condition": {"title": "t"}},
        "required property 'expression'",
    ),
    (ON_ACCOUNT, {"serviceAccountId": "a@b", "role": "r", "member": "user:a@b"}, "projects/PROJECT/serviceAccounts"),
    (API, {"service": "tpu"}, "contains a dot"),
    (API, {"service": "bigquery-json.googleapis.com"}, "bigquery.googleapis.com"),
    (SECRET, {"secretId": "s", "replication": {}}, "one of auto, userManaged must be specified"),
    (
        SECRET,
        {"secretId": "s", "replication": {"auto": {}, "userManaged": {"replicas": [{"location": "us-west4"}]}}},
        "only one of auto, userManaged",
    ),
    (
        SECRET,
        {**HELD, "rotation": {"nextRotationTime": "2030-01-01T00:00:00Z"}},
        "all of rotation, topics must be specified",
    ),
    (
        SECRET,
        {**HELD, "topics": [{"name": "t"}], "rotation": {"nextRotationTime": "2030-01-01T00:00:00Z"}},
        "all of nextRotationTime, rotationPeriod must be specified",
    ),
    (BUCKET, {"location": "US", "labels": {"Owner": "ci"}}, "label keys"),
    (BUCKET, {"location": "US", "labels": {"": "ci"}}, "label keys"),
    (
        BUCKET,
        {"location": "US", "lifecycleRules": [{"action": {"type": "Delete"}, "condition": {"withState": "GONE"}}]},
        "expected one of LIVE",
    ),
    (
        BUCKET,
        {"location": "US", "lifecycleRules": [{"action": {"type": "Delete"}, "condition": {"age": 1}}] * 101},
        "at most 100 elements",
    ),
    (OBJECT, {"bucket": "b", "name": "n"}, "required property 'content'"),
    (SERVICE, {**RUN, "template": {**TEMPLATE, "timeout": "5m"}}, "seconds with an s"),
    (SERVICE, {**RUN, "template": TEMPLATE, "ingress": "INGRESS_TRAFFIC_NONE"}, "expected one of INGRESS_TRAFFIC_ALL"),
    (SERVICE, {**RUN, "template": TEMPLATE, "launchStage": "STABLE"}, "expected one of UNIMPLEMENTED"),
    (RUN_JOB, {**RUN, "template": {"template": {**TEMPLATE, "timeout": "600"}}}, "seconds with an s"),
    (JOB, SENT, "one of pubsubTarget, httpTarget must be specified"),
    (JOB, {**SENT, "httpTarget": CALLED, "pubsubTarget": TOLD}, "only one of pubsubTarget, httpTarget"),
    (
        JOB,
        {
            **SENT,
            "httpTarget": {
                **CALLED,
                "oauthToken": {"serviceAccountEmail": "a@b"},
                "oidcToken": {"serviceAccountEmail": "a@b"},
            },
        },
        "only one of oauth_token or oidc_token can be specified, but not both",
    ),
    (JOB, {**SENT, "httpTarget": {**CALLED, "body": "no base64!"}}, "base64"),
    (JOB, {**SENT, "pubsubTarget": {**TOLD, "data": "no base64!"}}, "base64"),
    (JOB, {**SENT, "httpTarget": {**CALLED, "headers": {"Content-Length": "1"}}}, "Content-Length"),
    (JOB, {**SENT, "httpTarget": {**CALLED, "headers": {"X-Google-A": "1"}}}, "X-Google-A"),
    (JOB, {**SENT, "pubsubTarget": TOLD, "retryConfig": {}}, "one of retryCount"),
    (TOPIC, {"name": "t", "schemaSettings": {"schema": "s", "encoding": "XML"}}, "expected one of ENCODING_UNSPEC"),
    (POOL, {"workloadIdentityPoolId": "gcp-pool"}, "does not start with gcp-"),
    (POOL, {"workloadIdentityPoolId": "abc.svc.id.goog"}, "4 to 32"),
    (POOL, {"workloadIdentityPoolId": "pool", "mode": "OPEN"}, "expected one of FEDERATION_ONLY"),
    (IDENTITIES, {**OIDC, "workloadIdentityPoolProviderId": "Git"}, "4 to 32"),
    (IDENTITIES, {name: value for name, value in OIDC.items() if name != "oidc"}, "one of oidc must be specified"),
    (
        REPOSITORY,
        {
            **DOCKER,
            "remoteRepositoryConfig": {"dockerRepository": {"publicRepository": "DOCKER_HUB"}},
            "virtualRepositoryConfig": {},
        },
        "only one of remoteRepositoryConfig, virtualRepositoryConfig",
    ),
    (REPOSITORY, {**DOCKER, "remoteRepositoryConfig": {"description": "d"}}, "one of dockerRepository"),
    (
        REPOSITORY,
        {
            **DOCKER,
            "remoteRepositoryConfig": {
                "dockerRepository": {"publicRepository": "DOCKER_HUB", "customRepository": {"uri": "https://ghcr.io"}}
            },
        },
        "only one of publicRepository, customRepository",
    ),
    (REPOSITORY, {**DOCKER, "mode": "REMOTE"}, "expected one of STANDARD_REPOSITORY"),
    (REPOSITORY, {**DOCKER, "cleanupPolicies": [{"id": "a", "action": "DROP"}]}, "expected one of DELETE"),
    (METRIC, {**LOGS, "bucketOptions": {}}, "one of explicitBuckets, exponentialBuckets, linearBuckets"),
    (
        METRIC,
        {**LOGS, "metricDescriptor": {"metricKind": "SUM", "valueType": "INT64"}},
        "expected one of DELTA, GAUGE, CUMULATIVE",
    ),
    (POLICY, {**ALERT, "combiner": "XOR"}, "expected one of AND"),
    (POLICY, {**ALERT, "combiner": ""}, "expected one of AND"),
    (POLICY, {**ALERT, "severity": "LOW"}, "expected one of CRITICAL"),
    (POLICY, {**ALERT, "documentation": {}}, "one of content, links, mimeType, subject must be specified"),
    (DASHBOARD, {"dashboardJson": "{"}, "not JSON"),
    (NETWORK, {"name": "CI"}, "1 to 63 lower-case"),
    (NETWORK, {"name": "ci", "routingMode": "ZONAL"}, "expected one of REGIONAL"),
    (SUBNETWORK, {"network": "n", "ipCidrRange": "10.0.0.1"}, "CIDR"),
    (SUBNETWORK, {"network": "n", "role": "SPARE", "ipCidrRange": "10.0.0.0/24"}, "expected one of ACTIVE"),
    (
        SUBNETWORK,
        {"network": "n", "ipCidrRange": "10.0.0.0/24", "logConfig": {}},
        "one of aggregationInterval, filterExpr, flowSampling, metadata must be specified",
    ),
    (ROUTER, {"name": "r", "network": "n", "bgp": {"asn": 1}}, "not a private ASN"),
    (
        ROUTER,
        {"name": "r", "network": "n", "bgp": {"asn": 64512, "advertisedGroups": ["ALL_SUBNETS"]}},
        "advertised_groups cannot be specified when using advertise_mode DEFAULT",
    ),
    (
        ROUTER,
        {"name": "r", "network": "n", "bgp": {"asn": 64512, "advertisedIpRanges": [{"range": "10.0.0.0/8"}]}},
        "advertised_ip_ranges cannot be specified when using advertise_mode DEFAULT",
    ),
    (NAT, {**OUT, "name": "a"}, "2 to 63"),
    (NAT, {**OUT, "logConfig": {"enable": True, "filter": "NONE"}}, "expected one of ERRORS_ONLY"),
    (NAT, {**OUT, "autoNetworkTier": "FAST"}, "expected one of PREMIUM"),
    (
        FIREWALL,
        {name: value for name, value in RULE.items() if name != "sourceRanges"},
        "one of source_tags, source_ranges, or source_service_accounts must be defined",
    ),
    (FIREWALL, {**RULE, "enableLogging": False, "logConfig": {"metadata": "INCLUDE_ALL_METADATA"}}, "log_config"),
    (FIREWALL, {**RULE, "priority": 65536}, "0 to 65535"),
    (FIREWALL, {**RULE, "sourceServiceAccounts": MANY}, "at most 10"),
    (FIREWALL, {**RULE, "denies": [{"protocol": "udp"}]}, "only one of allows, denies"),
    (FIREWALL, {name: value for name, value in RULE.items() if name != "allows"}, "one of allows, denies"),
    (
        FIREWALL,
        {**RULE, "sourceTags": ["a"], "targetServiceAccounts": ["a@b"]},
        "only one of targetServiceAccounts, sourceTags",
    ),
    (VM, {**TPU, "acceleratorType": "v5litepod-4", "acceleratorConfig": {"type": "V5P", "topology": "2x2x1"}}, "only"),
    (VM, {**TPU, "networkConfig": {"network": "n"}, "networkConfigs": [{"network": "n"}]}, "only one of networkConfig"),
    (VM, {**TPU, "dataDisks": [{"sourceDisk": "d", "mode": "WRITE"}]}, "expected one of READ_WRITE"),
    (KEY, {"keyRing": "projects/p/locations/l/keyRings/r", "rotationPeriod": "3600s"}, "at least 86400s"),
]

TAKEN: list[tuple[str, dict[str, Any]]] = [
    (TRIGGER, {"build": {"steps": [{**STEP, "timeout": "5m"}, {**STEP, "timeout": "300s"}]}}),
    (TRIGGER, {"build": {"steps": [STEP] * 5, "options": {"logging": "", "machineType": "MY_OWN"}}}),
    (TRIGGER, {"filename": "f", "repositoryEventConfig": {"push": {"branch": "b", "tag": "t"}, "pullRequest": {}}}),
    (TRIGGER, {"filename": "f", "repositoryEventConfig": {"push": {}}, "pubsubConfig": {"topic": "t"}}),
    (GRANT, {"project": "p", "role": "r", "member": "domain:example.com"}),
    (GRANT, {"project": "p", "role": "r", "member": "not allUsers"}),
    (SECRET, {**HELD, "ttl": "1d", "expireTime": "tomorrow"}),
    (SECRET, {**HELD, "topics": [{"name": "t"}], "rotation": {"rotationPeriod": "3600s"}}),
    (BUCKET, {"location": "US", "storageClass": "COSY", "publicAccessPrevention": "maybe"}),
    (SERVICE, {**RUN, "template": {"timeout": "3.5s"}}),
    (JOB, {**SENT, "httpTarget": {"uri": "no address", "httpMethod": "FETCH"}}),
    (JOB, {**SENT, "pubsubTarget": TOLD, "retryConfig": {"retryCount": 0}}),
    (TOPIC, {"name": "t", "schemaSettings": {"schema": "s", "encoding": ""}}),
    (POOL, {"workloadIdentityPoolId": "a-lab.svc.id.goog"}),
    (REPOSITORY, {**DOCKER, "format": "ANYTHING", "mode": "REMOTE_REPOSITORY"}),
    (POLICY, {**ALERT, "severity": ""}),
    (SUBNETWORK, {"network": "n", "ipCidrRange": "10.0.0.0/24", "logConfig": {"metadata": ""}}),
    (SUBNETWORK, {"network": "n", "ipCidrRange": "10.0.0.1/24"}),
    (ROUTER, {"name": "r", "network": "n", "bgp": {"asn": 16550}}),
    (FIREWALL, {**{name: value for name, value in RULE.items() if name != "sourceRanges"}, "direction": "EGRESS"}),
    (VM, TPU),
]


def failures(token: str, inputs: dict[str, Any]) -> str:
    found = PROVIDER.check(token, "it", "urn:it", inputs, None).failures
    return "\n".join(f"{each.path}: {each.reason}" for each in found)


@pytest.mark.parametrize(("token", "inputs", "reason"), REFUSED)
def test_a_program_that_google_refuses_is_refused(token: str, inputs: dict[str, Any], reason: str) -> None:
    assert re.search(reason, failures(token, inputs)), failures(token, inputs)


@pytest.mark.parametrize(("token", "inputs"), TAKEN)
def test_a_program_that_google_takes_is_taken(token: str, inputs: dict[str, Any]) -> None:
    assert failures(token, inputs) == ""


@pytest.mark.parametrize(("token", "inputs"), TAKEN)
def test_what_is_not_known_yet_breaks_no_rule(token: str, inputs: dict[str, Any]) -> None:
    """A preview knows less than an apply: any one input may still be unknown."""
    for name in inputs:
        assert failures(token, {**inputs, name: UNKNOWN}) == ""


def test_every_type_with_a_rule_of_its_own_has_a_program_that_breaks_it() -> None:
    broken = {token for token, _, _ in REFUSED}
    ruled = {token for token, kind in TYPES.items() if kind.rules or kind.relations}
    assert ruled <= broken
