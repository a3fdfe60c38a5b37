"""A life of a resource of every type: how it is declared, what it is updated to, and its id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.tests.provider import cluster_inputs as gke

PROJECT = "hai-gcp-models"
NETWORK = f"projects/{PROJECT}/global/networks/ci"
READER = f"serviceAccount:runner@{PROJECT}.iam.gserviceaccount.com"
RUNNER = f"runner@{PROJECT}.iam.gserviceaccount.com"
IMAGE = f"us-central1-docker.pkg.dev/{PROJECT}/marin/controller@sha256:{'0' * 64}"
CONTROLLER = f"projects/{PROJECT}/locations/us-central1/jobs/controller"
RUN_SERVICE = {"name": "broker", "location": "us-central1", "template": {"containers": [{"image": IMAGE}]}}
RUN_JOB = {
    "name": "controller",
    "location": "us-central1",
    "deletionProtection": False,
    "template": {
        "taskCount": 1,
        "template": {"timeout": "600s", "maxRetries": 0, "containers": [{"image": IMAGE, "args": ["reconcile"]}]},
    },
}
CONDITION = {"title": "only fleet/", "expression": 'resource.name.startsWith("projects/_/buckets/b/objects/fleet/")'}


@dataclass(frozen=True)
class Life:
    """inputs: as a program writes them. id: where it is found. change: inputs after an update in place, by path's top.
    needs: resources that must be there first. shows: some of its outputs. stays: a destroy leaves it on the service.
    """

    token: str
    id: str
    inputs: dict[str, Any]
    change: dict[str, Any] = field(default_factory=dict)
    needs: tuple[tuple[str, dict[str, Any]], ...] = ()
    shows: dict[str, Any] = field(default_factory=dict)
    stays: bool = False


THE_NETWORK = ("gcp:compute/network:Network", {"name": "ci", "autoCreateSubnetworks": False})
THE_ROUTER = ("gcp:compute/router:Router", {"name": "ci", "region": "us-west4", "network": NETWORK})
THE_ACCOUNT = ("gcp:serviceaccount/account:Account", {"accountId": "runner"})
THE_REPOSITORY = (
    "gcp:artifactregistry/repository:Repository",
    {"repositoryId": "marin", "location": "us-west4", "format": "DOCKER"},
)
THE_SECRET = ("gcp:secretmanager/secret:Secret", {"secretId": "token", "replication": {"auto": {}}})
THE_BUCKET = ("gcp:storage/bucket:Bucket", {"name": "fleet-records", "location": "us-west4"})
THE_RING = ("gcp:kms/keyRing:KeyRing", {"name": "tidepool", "location": "us-central1"})
RING = f"projects/{PROJECT}/locations/us-central1/keyRings/tidepool"
THE_POOL = ("gcp:iam/workloadIdentityPool:WorkloadIdentityPool", {"workloadIdentityPoolId": "tidepool-ci"})
THE_POOL_ID = f"projects/{PROJECT}/locations/global/workloadIdentityPools/tidepool-ci"

THE_CONNECTION = (
    "gcp:cloudbuildv2/connection:Connection",
    {
        "name": "marin",
        "location": "us-central1",
        "githubConfig": {
            "appInstallationId": 1234567,
            "authorizerCredential": {"oauthTokenSecretVersion": f"projects/{PROJECT}/secrets/token/versions/1"},
        },
    },
)
CONNECTION = f"projects/{PROJECT}/locations/us-central1/connections/marin"
THE_SOURCE = (
    "gcp:cloudbuildv2/repository:Repository",
    {
        "name": "marin-community-marin",
        "parentConnection": CONNECTION,
        "location": "us-central1",
        "remoteUri": "https://github.com/marin-community/marin.git",
    },
)
THE_TOPIC = ("gcp:pubsub/topic:Topic", {"name": "build-tpu-ci"})
TOPIC = f"projects/{PROJECT}/topics/build-tpu-ci"
BUILD = {
    "steps": [
        {
            "id": "fetch",
            "name": "docker.io/library/debian:bookworm-slim",
            "script": "#!/bin/sh\ntrue\n",
            "timeout": "600s",
            "waitFors": ["-"],
        },
        {
            "id": "build",
            "name": "docker.io/library/debian:bookworm-slim",
            "entrypoint": "sh",
            "args": ["build.sh"],
            "envs": ["IMAGE=tpu-ci"],
            "waitFors": ["fetch"],
        },
    ],
    "timeout": "7200s",
    "queueTtl": "3600s",
    "logsBucket": "gs://fleet-records",
    "tags": ["tidepool"],
    "substitutions": {"_SOURCE_REVISION": "$COMMIT_SHA"},
    "options": {"machineType": "E2_HIGHCPU_32", "diskSizeGb": 200, "logging": "GCS_ONLY", "envs": ["A=1"]},
}

LIVES = [
    Life(
        "gcp:tpu/v2Vm:V2Vm",
        f"projects/{PROJECT}/locations/us-west4-a/nodes/tpu-ci-us-west4-a-0",
        {
            "name": "tpu-ci-us-west4-a-0",
            "zone": "us-west4-a",
            "acceleratorType": "v5litepod-4",
            "runtimeVersion": "v2-alpha-tpuv5-lite",
            "description": "a runner",
            "labels": {"tidepool-pool": "tpu-ci"},
            "metadata": {"startup-script": "#!/bin/sh\ntrue\n"},
            "tags": ["runner"],
            "schedulingConfig": {"preemptible": True},
            "networkConfig": {"network": NETWORK, "enableExternalIps": False},
            "serviceAccount": {"email": READER.partition(":")[2], "scopes": ["cloud-platform"]},
            "shieldedInstanceConfig": {"enableSecureBoot": True},
        },
        needs=(THE_NETWORK, THE_ACCOUNT),
        change={"labels": {"tidepool-pool": "other", "owner": "ci"}, "metadata": {}, "description": ""},
        shows={
            "state": "READY",
            "project": PROJECT,
            "deletionPolicy": "DELETE",
            "effectiveLabels": {"tidepool-pool": "tpu-ci", "goog-pulumi-provisioned": "true"},
            "pulumiLabels": {"tidepool-pool": "tpu-ci", "goog-pulumi-provisioned": "true"},
        },
    ),
    Life(
        "gcp:compute/network:Network",
        NETWORK,
        {"name": "ci", "autoCreateSubnetworks": False, "routingMode": "REGIONAL"},
        change={"routingMode": "GLOBAL"},
        shows={"project": PROJECT, "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL"},
    ),
    Life(
        "gcp:compute/subnetwork:Subnetwork",
        f"projects/{PROJECT}/regions/us-west4/subnetworks/ci-us-west4",
        {
            "name": "ci-us-west4",
            "region": "us-west4",
            "network": NETWORK,
            "ipCidrRange": "10.0.0.0/24",
            "privateIpGoogleAccess": True,
        },
        change={"ipCidrRange": "10.0.0.0/20", "privateIpGoogleAccess": False},
        needs=(THE_NETWORK,),
        shows={"gatewayAddress": "10.0.0.1", "region": "us-west4", "project": PROJECT},
    ),
    Life(
        "gcp:compute/router:Router",
        f"projects/{PROJECT}/regions/us-west4/routers/ci",
        THE_ROUTER[1],
        change={"description": "the way out"},
        needs=(THE_NETWORK,),
    ),
    Life(
        "gcp:compute/routerNat:RouterNat",
        f"{PROJECT}/us-west4/ci/out",
        {
            "name": "out",
            "region": "us-west4",
            "router": "ci",
            "natIpAllocateOption": "AUTO_ONLY",
            "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
        },
        change={"udpIdleTimeoutSec": 60, "logConfig": {"enable": True, "filter": "ERRORS_ONLY"}},
        needs=(THE_NETWORK, THE_ROUTER),
        shows={"tcpEstablishedIdleTimeoutSec": 1200, "router": "ci"},
    ),
    Life(
        "gcp:compute/firewall:Firewall",
        f"projects/{PROJECT}/global/firewalls/hosts",
        {
            "name": "hosts",
            "network": NETWORK,
            "allows": [{"protocol": "tcp", "ports": ["1024-65535"]}],
            "sourceServiceAccounts": ["pool@a-lab.iam.gserviceaccount.com"],
            "targetServiceAccounts": ["pool@a-lab.iam.gserviceaccount.com"],
        },
        change={"allows": [{"protocol": "tcp", "ports": ["2222"]}], "description": "fewer"},
        needs=(THE_NETWORK,),
        shows={"direction": "INGRESS", "priority": 1000},
    ),
    Life(
        "gcp:compute/firewall:Firewall",
        f"projects/{PROJECT}/global/firewalls/out",
        {
            "name": "out",
            "network": "ci",
            "direction": "EGRESS",
            "denies": [{"protocol": "all"}],
            "priority": 0,
            "logConfig": {"metadata": "INCLUDE_ALL_METADATA"},
        },
        change={"logConfig": None, "disabled": True},
        needs=(THE_NETWORK,),
        shows={"logConfig": {"metadata": "INCLUDE_ALL_METADATA"}},
    ),
    Life(
        "gcp:artifactregistry/repository:Repository",
        f"projects/{PROJECT}/locations/us-west4/repositories/marin",
        {
            **THE_REPOSITORY[1],
            "description": "images",
            "labels": {"owner": "ci"},
            "cleanupPolicyDryRun": False,
            "cleanupPolicies": [
                {"id": "keep-newest", "action": "KEEP", "mostRecentVersions": {"keepCount": 16}},
                {"id": "delete-old", "action": "DELETE", "condition": {"tagState": "ANY", "olderThan": "30d"}},
            ],
        },
        change={
            "cleanupPolicies": [
                {"id": "delete-old", "action": "DELETE", "condition": {"tagState": "ANY", "olderThan": "10d"}}
            ]
        },
        shows={"name": "marin", "mode": "STANDARD_REPOSITORY"},
    ),
    Life(
        "gcp:artifactregistry/repository:Repository",
        f"projects/{PROJECT}/locations/us/repositories/ghcr",
        {
            "repositoryId": "ghcr",
            "location": "us",
            "format": "DOCKER",
            "mode": "REMOTE_REPOSITORY",
            "remoteRepositoryConfig": {
                "description": "Pull-through mirror",
                "dockerRepository": {"customRepository": {"uri": "https://ghcr.io"}},
            },
        },
        change={"description": "a mirror"},
    ),
    Life(
        "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember",
        f"projects/{PROJECT}/locations/us-west4/repositories/marin/roles/artifactregistry.reader/{READER}",
        {"repository": "marin", "location": "us-west4", "role": "roles/artifactregistry.reader", "member": READER},
        needs=(THE_REPOSITORY, THE_ACCOUNT),
        shows={"repository": f"projects/{PROJECT}/locations/us-west4/repositories/marin"},
    ),
    Life(
        "gcp:serviceaccount/account:Account",
        f"projects/{PROJECT}/serviceAccounts/runner@{PROJECT}.iam.gserviceaccount.com",
        {"accountId": "runner", "displayName": "runner", "description": "runs jobs"},
        change={"displayName": "a runner", "disabled": True},
        shows={
            "email": f"runner@{PROJECT}.iam.gserviceaccount.com",
            "member": READER,
            "name": f"projects/{PROJECT}/serviceAccounts/runner@{PROJECT}.iam.gserviceaccount.com",
        },
    ),
    Life(
        "gcp:serviceaccount/iAMMember:IAMMember",
        f"projects/{PROJECT}/serviceAccounts/runner@{PROJECT}.iam.gserviceaccount.com/roles/iam.serviceAccountUser/"
        "user:ada@example.com",
        {
            "serviceAccountId": f"projects/{PROJECT}/serviceAccounts/runner@{PROJECT}.iam.gserviceaccount.com",
            "role": "roles/iam.serviceAccountUser",
            "member": "user:Ada@Example.com",
        },
        needs=(THE_ACCOUNT,),
    ),
    Life(
        "gcp:projects/iAMMember:IAMMember",
        f"{PROJECT}/roles/tpu.viewer/{READER}",
        {"project": PROJECT, "role": "roles/tpu.viewer", "member": READER},
        needs=(THE_ACCOUNT,),
    ),
    Life(
        "gcp:projects/service:Service",
        f"{PROJECT}/tpu.googleapis.com",
        {"service": "tpu.googleapis.com", "disableOnDestroy": True},
        change={"disableDependentServices": True},
    ),
    Life(
        "gcp:secretmanager/secret:Secret",
        f"projects/{PROJECT}/secrets/token",
        {**THE_SECRET[1], "labels": {"owner": "ci"}},
        change={"labels": {"owner": "fleet"}, "annotations": {"why": "jobs"}},
    ),
    Life(
        "gcp:secretmanager/secret:Secret",
        f"projects/{PROJECT}/secrets/token",
        {**THE_SECRET[1], "ttl": "86400s"},
        change={"ttl": "172800s"},
        shows={"ttl": "86400s"},
    ),
    Life(
        "gcp:secretmanager/secretIamMember:SecretIamMember",
        f"projects/{PROJECT}/secrets/token/roles/secretmanager.secretAccessor/{READER}",
        {"secretId": "token", "role": "roles/secretmanager.secretAccessor", "member": READER},
        needs=(THE_SECRET, THE_ACCOUNT),
        shows={"secretId": f"projects/{PROJECT}/secrets/token"},
    ),
    Life(
        "gcp:storage/bucket:Bucket",
        "fleet-records",
        {
            "name": "fleet-records",
            "location": "us-west4",
            "labels": {"owner": "ci", "team": "infra"},
            "uniformBucketLevelAccess": True,
            "publicAccessPrevention": "enforced",
            "versioning": {"enabled": True},
            "lifecycleRules": [
                {"action": {"type": "Delete"}, "condition": {"numNewerVersions": 50, "withState": "ARCHIVED"}}
            ],
        },
        change={"labels": {"owner": "fleet"}, "lifecycleRules": [], "versioning": {"enabled": False}},
        shows={"url": "gs://fleet-records", "storageClass": "STANDARD", "location": "US-WEST4"},
    ),
    Life(
        "gcp:storage/bucketIAMMember:BucketIAMMember",
        f"b/fleet-records/roles/storage.objectViewer/{READER}/only fleet///{CONDITION['expression']}",
        {"bucket": "fleet-records", "role": "roles/storage.objectViewer", "member": READER, "condition": CONDITION},
        needs=(THE_ACCOUNT, ("gcp:storage/bucket:Bucket", {**THE_BUCKET[1], "uniformBucketLevelAccess": True})),
        shows={"bucket": "b/fleet-records"},
    ),
    Life(
        "gcp:storage/bucketObject:BucketObject",
        "fleet-records-fleet/manifest.json",
        {
            "bucket": "fleet-records",
            "name": "fleet/manifest.json",
            "content": '{"pools": {"tpu-ci": {"labels": ["größe"]}}}\n',
            "cacheControl": "no-store",
            "metadata": {"sha256": "0" * 64},
        },
        change={"content": '{"pools": {}}\n'},
        needs=(THE_BUCKET,),
        shows={
            "contentType": "text/plain; charset=utf-8",
            "outputName": "fleet/manifest.json",
            "md5hash": "HRK9mdKaKT0Td1vE1Uvd/A==",
        },
    ),
    Life("gcp:kms/keyRing:KeyRing", RING, {"name": "tidepool", "location": "us-central1"}, stays=True),
    Life(
        "gcp:kms/cryptoKey:CryptoKey",
        f"{RING}/cryptoKeys/state",
        {"name": "state", "keyRing": RING, "labels": {"owner": "ci"}},
        change={"rotationPeriod": "7776000s", "labels": {"owner": "fleet"}},
        needs=(THE_RING,),
        shows={"purpose": "ENCRYPT_DECRYPT"},
        stays=True,
    ),
    Life(
        "gcp:iam/workloadIdentityPool:WorkloadIdentityPool",
        THE_POOL_ID,
        {**THE_POOL[1], "displayName": "ci", "description": "who may come in"},
        change={"displayName": "the fleet", "disabled": True, "description": ""},
        shows={"state": "ACTIVE", "mode": "FEDERATION_ONLY"},
    ),
    Life(
        "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider",
        f"{THE_POOL_ID}/providers/github",
        {
            "workloadIdentityPoolId": "tidepool-ci",
            "workloadIdentityPoolProviderId": "github",
            "attributeMapping": {"google.subject": "assertion.sub", "attribute.repository": "assertion.repository"},
            "attributeCondition": "assertion.repository == 'a/b'",
            "oidc": {"issuerUri": "https://token.actions.githubusercontent.com"},
        },
        change={"attributeMapping": {"google.subject": "assertion.sub"}, "attributeCondition": "assertion.ref == 'x'"},
        needs=(THE_POOL,),
        shows={"state": "ACTIVE"},
    ),
    Life(
        "gcp:cloudbuildv2/connection:Connection",
        CONNECTION,
        THE_CONNECTION[1],
        change={"annotations": {"why": "builds"}, "disabled": True},
        needs=(THE_SECRET,),
    ),
    Life(
        "gcp:cloudbuildv2/repository:Repository",
        f"{CONNECTION}/repositories/marin-community-marin",
        THE_SOURCE[1],
        needs=(THE_SECRET, THE_CONNECTION),
    ),
    Life(
        "gcp:cloudbuildv2/connectionIAMMember:ConnectionIAMMember",
        f"{CONNECTION}/roles/cloudbuild.readTokenAccessor/{READER}",
        {"name": "marin", "location": "us-central1", "role": "roles/cloudbuild.readTokenAccessor", "member": READER},
        needs=(THE_SECRET, THE_CONNECTION, THE_ACCOUNT),
        shows={"name": CONNECTION},
    ),
    Life(
        "gcp:cloudbuild/trigger:Trigger",
        f"projects/{PROJECT}/locations/us-central1/triggers/tpu-ci-push",
        {
            "name": "tpu-ci-push",
            "location": "us-central1",
            "description": "tpu-ci: on a push",
            "serviceAccount": f"projects/{PROJECT}/serviceAccounts/{READER.partition(':')[2]}",
            "tags": ["tidepool"],
            "includedFiles": ["uv.lock", "lib/**"],
            "repositoryEventConfig": {
                "repository": f"{CONNECTION}/repositories/marin-community-marin",
                "push": {"branch": "^main$"},
            },
            "build": BUILD,
        },
        needs=(THE_SECRET, THE_CONNECTION, THE_SOURCE, THE_ACCOUNT, THE_BUCKET),
        change={"disabled": True, "description": "off", "includedFiles": ["uv.lock"], "build": {**BUILD, "tags": []}},
    ),
    Life(
        "gcp:cloudbuild/trigger:Trigger",
        f"projects/{PROJECT}/triggers/anywhere",
        {"name": "anywhere", "pubsubConfig": {"topic": TOPIC}, "filename": "build.yaml"},
        change={"name": "everywhere"},
        needs=(THE_TOPIC,),
        shows={"location": "global", "__meta": '{"schema_version": "2"}'},
    ),
    Life(
        "gcp:cloudbuild/trigger:Trigger",
        f"projects/{PROJECT}/locations/us-central1/triggers/tpu-ci-message",
        {
            "name": "tpu-ci-message",
            "location": "us-central1",
            "serviceAccount": f"projects/{PROJECT}/serviceAccounts/{READER.partition(':')[2]}",
            "pubsubConfig": {"topic": TOPIC, "serviceAccountEmail": READER.partition(":")[2]},
            "substitutions": {"_SOURCE_REVISION": "$(body.message.attributes.source_revision)"},
            "build": BUILD,
        },
        needs=(THE_TOPIC, THE_ACCOUNT, THE_BUCKET),
        change={"substitutions": {"_SOURCE_REVISION": ""}},
    ),
    Life(
        "gcp:pubsub/topic:Topic",
        TOPIC,
        {**THE_TOPIC[1], "labels": {"owner": "ci"}},
        change={"labels": {"owner": "fleet"}, "messageRetentionDuration": "86400s"},
        shows={"project": PROJECT},
    ),
    Life(
        "gcp:pubsub/topicIAMMember:TopicIAMMember",
        f"{TOPIC}/roles/pubsub.publisher/{READER}",
        {"topic": "build-tpu-ci", "role": "roles/pubsub.publisher", "member": READER},
        needs=(THE_TOPIC, THE_ACCOUNT),
        shows={"topic": TOPIC},
    ),
    Life(
        "gcp:cloudscheduler/job:Job",
        f"projects/{PROJECT}/locations/us-central1/jobs/build-tpu-ci",
        {
            "name": "build-tpu-ci",
            "region": "us-central1",
            "description": "every night",
            "schedule": "0 3 * * *",
            "timeZone": "Europe/Berlin",
            "pubsubTarget": {"topicName": TOPIC, "attributes": {"started_by": "clock"}},
        },
        needs=(THE_TOPIC,),
        change={"schedule": "0 4 * * *", "paused": True},
        shows={"state": "ENABLED", "paused": False},
    ),
    Life(
        "gcp:cloudscheduler/job:Job",
        f"projects/{PROJECT}/locations/us-central1/jobs/sweep",
        {
            "name": "sweep",
            "region": "us-central1",
            "schedule": "*/2 * * * *",
            "httpTarget": {
                "uri": f"https://run.googleapis.com/v2/{CONTROLLER}:run",
                "httpMethod": "POST",
                "oauthToken": {"serviceAccountEmail": RUNNER},
            },
        },
        change={"schedule": "*/5 * * * *"},
    ),
    Life(
        "gcp:cloudrunv2/service:Service",
        f"projects/{PROJECT}/locations/us-central1/services/broker",
        {
            "name": "broker",
            "location": "us-central1",
            "labels": {"team": "x"},
            "ingress": "INGRESS_TRAFFIC_ALL",
            "deletionProtection": False,
            "customAudiences": ["https://broker.example"],
            "template": {
                "serviceAccount": RUNNER,
                "timeout": "60s",
                "maxInstanceRequestConcurrency": 40,
                "scaling": {"minInstanceCount": 1, "maxInstanceCount": 2},
                "containers": [
                    {
                        "image": IMAGE,
                        "args": ["broker"],
                        "envs": [
                            {"name": "A", "value": "b"},
                            {"name": "B", "valueSource": {"secretKeyRef": {"secret": "s", "version": "latest"}}},
                        ],
                        "resources": {"limits": {"cpu": "1", "memory": "512Mi"}, "cpuIdle": True},
                    }
                ],
            },
        },
        needs=(THE_ACCOUNT,),
        change={"description": "registers runners"},
        shows={"generation": "1", "launchStage": "GA"},
    ),
    Life(
        "gcp:cloudrunv2/serviceIamMember:ServiceIamMember",
        f"projects/{PROJECT}/locations/us-central1/services/broker/roles/run.invoker/{READER}",
        {"name": "broker", "location": "us-central1", "role": "roles/run.invoker", "member": READER},
        needs=(THE_ACCOUNT, ("gcp:cloudrunv2/service:Service", RUN_SERVICE)),
    ),
    Life(
        "gcp:cloudrunv2/job:Job",
        CONTROLLER,
        RUN_JOB,
        change={"template": {"taskCount": 1, "template": {"containers": [{"image": IMAGE, "args": ["again"]}]}}},
        shows={"executionCount": 0},
    ),
    Life(
        "gcp:cloudrunv2/jobIamMember:JobIamMember",
        f"{CONTROLLER}/roles/run.invoker/{READER}",
        {"name": "controller", "location": "us-central1", "role": "roles/run.invoker", "member": READER},
        needs=(THE_ACCOUNT, ("gcp:cloudrunv2/job:Job", RUN_JOB)),
    ),
    Life(
        "gcp:logging/metric:Metric",
        "tidepool-ci-queue-old",
        {
            "name": "tidepool-ci-queue-old",
            "filter": 'jsonPayload.event="pool"',
            "labelExtractors": {"pool": "EXTRACT(jsonPayload.pool)"},
            "metricDescriptor": {"metricKind": "DELTA", "valueType": "INT64", "labels": [{"key": "pool"}]},
        },
        change={"filter": 'jsonPayload.event="sweep"', "description": "sweeps"},
        shows={"disabled": False},
    ),
    Life(
        "gcp:logging/metric:Metric",
        "tidepool-ci-pool-online",
        {
            "name": "tidepool-ci-pool-online",
            "filter": 'jsonPayload.event="pool"',
            "valueExtractor": "EXTRACT(jsonPayload.online)",
            "bucketOptions": {"exponentialBuckets": {"numFiniteBuckets": 16, "growthFactor": 2.0, "scale": 1.0}},
            "metricDescriptor": {"metricKind": "DELTA", "valueType": "DISTRIBUTION"},
        },
        change={"valueExtractor": "EXTRACT(jsonPayload.busy)"},
    ),
    Life(
        "gcp:monitoring/alertPolicy:AlertPolicy",
        "",
        {
            "displayName": "The controller does not sweep",
            "combiner": "OR",
            "severity": "CRITICAL",
            "conditions": [
                {
                    "displayName": "no sweep",
                    "conditionThreshold": {
                        "filter": 'metric.type="logging.googleapis.com/user/sweeps" AND resource.type="cloud_run_job"',
                        "comparison": "COMPARISON_LT",
                        "thresholdValue": 1,
                        "duration": "1200s",
                        "evaluationMissingData": "EVALUATION_MISSING_DATA_ACTIVE",
                        "aggregations": [{"alignmentPeriod": "600s", "perSeriesAligner": "ALIGN_SUM"}],
                        "trigger": {"count": 1},
                    },
                }
            ],
            "documentation": {"content": "text", "links": [{"displayName": "Runbook", "url": "https://a.example/b"}]},
            "alertStrategy": {"autoClose": "3600s"},
            "userLabels": {"tidepool-stack": "ci"},
        },
        change={"enabled": False, "severity": "ERROR"},
        shows={"enabled": True},
    ),
    Life(
        "gcp:monitoring/notificationChannel:NotificationChannel",
        "",
        {"type": "email", "displayName": "a", "labels": {"email_address": "a@b.org"}, "userLabels": {"x": "y"}},
        change={"displayName": "b", "enabled": False},
        shows={"enabled": True},
    ),
    Life(
        "gcp:billing/budget:Budget",
        "",
        {
            "billingAccount": "000000-111111-222222",
            "displayName": "a",
            "amount": {"specifiedAmount": {"currencyCode": "USD", "units": "5000"}},
            "budgetFilter": {"projects": [f"projects/{PROJECT}"], "calendarPeriod": "MONTH"},
            "thresholdRules": [{"thresholdPercent": 0.5}],
        },
        change={"displayName": "b", "thresholdRules": [{"thresholdPercent": 0.9, "spendBasis": "FORECASTED_SPEND"}]},
    ),
    Life(
        "gcp:monitoring/dashboard:Dashboard",
        "",
        {"dashboardJson": '{"displayName": "a", "mosaicLayout": {"columns": 12, "tiles": [{"width": 6}]}}'},
        change={"dashboardJson": '{"displayName": "b", "mosaicLayout": {"columns": 12}}'},
    ),
    Life(
        gke.CLUSTER,
        gke.CLUSTER_ID,
        gke.CLUSTER_INPUTS,
        needs=gke.NEEDED_BY_CLUSTERS,
        change=gke.CLUSTER_CHANGES,
        shows={"masterVersion": "1.35.4-gke.1400000", "servicesIpv4Cidr": "10.8.0.0/20", "nodeLocations": [gke.ZONE]},
    ),
    Life(
        gke.POOL,
        f"{gke.CLUSTER_ID}/nodePools/{gke.SLICE_INPUTS['name']}",
        gke.SLICE_INPUTS,
        needs=gke.NEEDED_BY_POOLS,
        change=gke.SLICE_CHANGES,
        shows={"nodeCount": 0, "maxPodsPerNode": 15, "version": "1.35.4-gke.1400000"},
    ),
    Life(
        gke.POOL,
        f"{gke.CLUSTER_ID}/nodePools/batch",
        gke.CPU_POOL_INPUTS,
        needs=gke.NEEDED_BY_POOLS,
        change=gke.CPU_POOL_CHANGES,
        shows={"nodeCount": 2, "initialNodeCount": 2, "nodeLocations": [gke.ZONE]},
    ),
    Life(
        "gcp:compute/resourcePolicy:ResourcePolicy",
        f"projects/{PROJECT}/regions/us-central1/resourcePolicies/tpu7x-2x2x2",
        {
            "name": "tpu7x-2x2x2",
            "region": "us-central1",
            "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"},
        },
        change={"description": "slices of two hosts"},
    ),
    Life(
        "gcp:compute/address:Address",
        f"projects/{PROJECT}/regions/us-central1/addresses/nat",
        {"name": "nat", "region": "us-central1", "labels": {"tidepool-stack": "train"}},
        change={"labels": {"team": "core"}},
        shows={"addressType": "EXTERNAL", "networkTier": "PREMIUM"},
    ),
    Life(
        "gcp:redis/instance:Instance",
        f"projects/{PROJECT}/locations/us-central1/instances/locks",
        {
            "name": "locks",
            "region": "us-central1",
            "tier": "STANDARD_HA",
            "memorySizeGb": 5,
            "redisVersion": "REDIS_7_2",
            "authorizedNetwork": NETWORK,
            "reservedIpRange": "10.9.0.0/29",
            "redisConfigs": {"maxmemory-policy": "noeviction"},
        },
        needs=(THE_NETWORK,),
        change={"memorySizeGb": 8},
        shows={"port": 6379},
    ),
    Life(
        "gcp:firestore/database:Database",
        f"projects/{PROJECT}/databases/locks",
        {"name": "locks", "locationId": "us-central1", "type": "FIRESTORE_NATIVE", "deletionPolicy": "DELETE"},
        change={"pointInTimeRecoveryEnablement": "POINT_IN_TIME_RECOVERY_ENABLED"},
    ),
]
