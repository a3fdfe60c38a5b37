"""Each rule over resources: one resource that breaks it, and its like that does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.providers.google.tables import TYPES
from infra.rules.book import RESOURCE_RULES
from infra.rules.finding import Level
from infra.rules.keeping import LABELLED
from infra.rules.view import HIDDEN, UNKNOWN, ResourceView
from tests.rules.right_edits import (
    BUCKET,
    FORK,
    JOB,
    LABELS,
    MEMBER,
    REPOSITORY,
    REPOSITORY_GRANT,
    SECRET_GRANT,
    SECRET_TYPE,
    SERVED,
    SERVICE_GRANT,
    calling,
    config,
    findings,
    fork_vm,
    grant,
    reporting,
    resource,
    rules,
    vm,
)

_SERVED = config(**SERVED)
SERVICE = {"labels": LABELS, "template": {"serviceAccount": MEMBER}}
DIGEST = "us-docker.pkg.dev/my-lab/marin/runner@sha256:" + "a" * 64
TOKEN = "ghp_" + "a1B2" * 9
FIREWALL = "gcp:compute/firewall:Firewall"
POLICY = "gcp:storage/bucketIAMPolicy:BucketIAMPolicy"


def job(**container: Any) -> ResourceView:
    right = {"image": DIGEST} | container
    template = {"serviceAccount": MEMBER, "containers": [right]}
    return resource(JOB, {"labels": LABELS, "template": {"template": template}})


def bucket(**inputs: Any) -> ResourceView:
    return resource(BUCKET, {"name": "my-lab-ci", "labels": LABELS} | inputs, protect=True)


def trigger(**inputs: Any) -> ResourceView:
    """A trigger that is right; inputs replace or extend its own."""
    steps = [{"name": f"docker.io/library/python@sha256:{'0' * 64}"}]
    right = {"serviceAccount": f"projects/my-lab/serviceAccounts/{MEMBER}", "build": {"steps": steps}}
    return resource("gcp:cloudbuild/trigger:Trigger", right | inputs)


BREAKERS: dict[str, list[ResourceView]] = {
    "no-default-account": [
        vm(serviceAccount=None),
        vm(serviceAccount={}),
        vm(account="123456-compute@developer.gserviceaccount.com"),
        vm(account="my-lab@appspot.gserviceaccount.com"),
        resource("gcp:cloudbuild/trigger:Trigger", {"serviceAccount": "projects/my-lab/serviceAccounts/default"}),
        grant(
            REPOSITORY_GRANT, "roles/artifactregistry.reader", "serviceAccount:1-compute@developer.gserviceaccount.com"
        ),
    ],
    "external-ip-declared": [
        vm("tpu-other"),
        vm(labels=LABELS),
        resource("gcp:compute/address:Address", {"labels": LABELS}),
        resource(
            "gcp:compute/instance:Instance",
            {
                "labels": LABELS,
                "serviceAccount": {"email": MEMBER},
                "networkInterfaces": [{"accessConfigs": [{"natIp": ""}]}],
            },
        ),
    ],
    "no-way-in": [
        resource(FIREWALL, {"sourceRanges": ["0.0.0.0/0"], "allows": [{"protocol": "tcp"}]}),
        resource(FIREWALL, {"allows": [{"protocol": "all"}]}),
    ],
    "forks-isolated": [
        fork_vm(networkConfig={"enableExternalIps": True}),
        fork_vm(account=MEMBER),
        fork_vm(dataDisks=[{"sourceDisk": "projects/my-lab/zones/z/disks/d", "mode": "READ_WRITE"}]),
        vm(account=FORK),
        grant(SECRET_GRANT, "roles/secretmanager.secretAccessor", f"serviceAccount:{FORK}"),
        grant(REPOSITORY_GRANT, "roles/artifactregistry.writer", f"serviceAccount:{FORK}"),
        reporting("tpu-ci"),
        reporting("forks", role="roles/storage.objectAdmin"),
        calling(),
        grant("gcp:serviceaccount/iAMMember:IAMMember", "roles/iam.serviceAccountUser", f"serviceAccount:{FORK}"),
    ],
    "grant-on-one-resource": [
        grant("gcp:projects/iAMMember:IAMMember", "roles/tpu.admin", f"serviceAccount:{MEMBER}"),
        grant("gcp:folder/iAMMember:IAMMember", "roles/tpu.admin", f"serviceAccount:{MEMBER}"),
        grant("gcp:organizations/iAMMember:IAMMember", "roles/tpu.viewer", f"serviceAccount:{MEMBER}"),
        grant(REPOSITORY_GRANT, "roles/owner", f"serviceAccount:{MEMBER}"),
        grant(REPOSITORY_GRANT, "roles/editor", f"serviceAccount:{MEMBER}"),
    ],
    "grant-adds": [
        resource(POLICY, {"policyData": "{}"}),
        resource(
            "gcp:secretmanager/secretIamBinding:SecretIamBinding",
            {"role": "roles/secretmanager.secretAccessor", "members": [f"serviceAccount:{MEMBER}"]},
        ),
    ],
    "no-public-grant": [
        grant(REPOSITORY_GRANT, "roles/artifactregistry.reader", "allUsers"),
        resource("gcp:cloudrunv2/service:Service", SERVICE | {"invokerIamDisabled": True}),
        grant(
            "gcp:serviceaccount/iAMMember:IAMMember",
            "roles/iam.workloadIdentityUser",
            "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/github/*",
        ),
    ],
    "no-account-key": [
        resource("gcp:serviceaccount/key:Key", {"serviceAccountId": MEMBER}),
        resource("gcp:storage/hmacKey:HmacKey", {"serviceAccountEmail": MEMBER}),
    ],
    "no-secret-in-metadata": [
        vm(metadata={"startup-script": f"curl -H 'Authorization: Bearer {TOKEN}' https://api.github.com"}),
        vm(metadata={"x": HIDDEN}),
        vm(metadata={"github-token": "correct horse battery"}),
        vm(metadata={"key": "-----BEGIN RSA PRIVATE KEY-----\nMII"}),  # pragma: allowlist secret
        vm(metadata={"clone": "git clone https://bot:hunter2hunter2@github.com/x/y"}),  # pragma: allowlist secret
        job(envs=[{"name": "WANDB_API_KEY", "value": "0123456789abcdef"}]),
        resource("gcp:secretmanager/secretVersion:SecretVersion", {"secret": "x", "secretData": HIDDEN}),
    ],
    "protected": [
        resource(BUCKET, {"name": "my-lab-ci", "labels": LABELS}),
        resource(REPOSITORY, {"repositoryId": "marin", "labels": LABELS}),
        resource(SECRET_TYPE, {"secretId": "key", "labels": LABELS}),
        resource("gcp:iam/workloadIdentityPool:WorkloadIdentityPool", {"workloadIdentityPoolId": "tidepool-ci"}),
    ],
    "labels-say-owner": [
        bucket(labels={}),
        bucket(labels={"tidepool-stack": "ci"}),
        bucket(labels={"tidepool-owner": "lab", "tidepool-stack": "nightly"}),
        resource(REPOSITORY, {"repositoryId": "marin"}, protect=True),
    ],
    "name-within-limits": [
        vm(name="x" * 64),
        vm(name="Upper"),
        bucket(name="a"),
        resource("gcp:serviceaccount/account:Account", {"accountId": "x" * 31}),
        bucket(labels=LABELS | {"Bad Key": "x"}),
        bucket(labels=LABELS | {"team": "x" * 64}),
    ],
    "image-by-digest": [
        job(image="us-docker.pkg.dev/my-lab/marin/runner:latest"),
        job(image="busybox"),
        vm(metadata={"tidepool-image": "us-docker.pkg.dev/my-lab/marin/runner:v3"}),
        vm(
            metadata={
                "gce-container-declaration": "spec:\n  containers:\n  - image: gcr.io/my-lab/runner:v3\n    name: x\n"
            }
        ),
    ],
    "trigger-on": [
        trigger(disabled=True, description="tpu-ci. Off: images/bases.yaml does not pin python"),
        trigger(disabled=True, build={"steps": [{"name": "docker.io/library/python:3.11"}]}),
    ],
    "build-by-digest": [
        trigger(build={"steps": [{"name": "docker.io/library/python:3.11"}]}),
        trigger(build={"steps": [{"name": f"docker.io/library/python@sha256:{'0' * 64}"}, {"name": "python"}]}),
    ],
}
CASES = [
    pytest.param(rule, view, id=f"{rule}-{index}")
    for rule, breakers in BREAKERS.items()
    for index, view in enumerate(breakers)
]


@pytest.mark.parametrize(("rule", "view"), CASES)
def test_what_breaks_a_rule_is_found_by_that_rule_alone(rule: str, view: ResourceView) -> None:
    found = findings(view)
    assert set(rules(found)) == {rule}
    level = Level.WARN if rule == "trigger-on" else Level.STOP
    assert all(finding.level is level for finding in found)
    assert all(finding.subject == view.subject and finding.reason and finding.fix for finding in found)


def test_every_rule_over_resources_has_something_that_breaks_it() -> None:
    assert set(BREAKERS) == {rule.id for rule in RESOURCE_RULES}


RIGHT = {
    "a VM": vm(),
    "a trigger": trigger(),
    "a trigger of a file": trigger(build=None, filename="cloudbuild.yaml"),
    "a trigger whose steps only an apply knows": trigger(build={"steps": [{"name": UNKNOWN}]}),
    "a VM of forks": fork_vm(),
    "a disk that forks read": fork_vm(dataDisks=[{"sourceDisk": "d", "mode": "READ_ONLY"}]),
    "a bucket": bucket(),
    "a job by digest": job(),
    "a job that reads its key from Secret Manager": job(
        envs=[{"name": "API_KEY", "valueSource": {"secretKeyRef": {"secret": "key"}}}]
    ),
    "a setting that names where a secret is kept": vm(metadata={"broker-token": "projects/my-lab/secrets/token"}),
    "a switch that is named like a secret": vm(metadata={"block-project-token": "TRUE"}),
    "a script that builds an address from a variable": vm(
        metadata={"startup-script": "git clone https://bot:${TOKEN}@github.com/x/y"}
    ),
    "a firewall for Identity-Aware Proxy": resource(FIREWALL, {"sourceRanges": ["35.235.240.0/20"]}),
    "a firewall that denies": resource(FIREWALL, {"sourceRanges": ["0.0.0.0/0"], "denies": [{"protocol": "all"}]}),
    "a firewall outwards": resource(FIREWALL, {"direction": "EGRESS", "destinationRanges": ["0.0.0.0/0"]}),
    "an internal address": resource("gcp:compute/address:Address", {"labels": LABELS, "addressType": "INTERNAL"}),
    "forks that report": reporting("forks"),
    "forks that pull images": grant(REPOSITORY_GRANT, "roles/artifactregistry.reader", f"serviceAccount:{FORK}"),
    "a member pool that reads a secret": grant(
        SECRET_GRANT, "roles/secretmanager.secretAccessor", f"serviceAccount:{MEMBER}"
    ),
    "one repository of a workload identity pool": grant(
        "gcp:serviceaccount/iAMMember:IAMMember",
        "roles/iam.workloadIdentityUser",
        "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/github"
        "/attribute.repository/lab/code",
    ),
    "a boot image, which is no container": resource(
        "gcp:compute/instance:Instance",
        {"labels": LABELS, "serviceAccount": {"email": MEMBER}, "bootDisk": {"image": "debian-cloud/debian-12"}},
    ),
    "an image that is built, not deployed": resource(
        "gcp:cloudbuild/trigger:Trigger",
        {"serviceAccount": MEMBER, "build": {"images": ["us-docker.pkg.dev/a/b/c:1"], "image": "gcr.io/a/b:1"}},
    ),
}


@pytest.mark.parametrize("view", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_not_found(view: ResourceView) -> None:
    assert findings(view) == ()


def test_a_fork_pool_calls_the_broker_that_its_stack_declares() -> None:
    assert findings(calling(), after=_SERVED) == ()


@given(
    kind=st.sampled_from(
        [SERVICE_GRANT, "gcp:cloudrunv2/jobIamMember:JobIamMember", "gcp:cloudrun/iamMember:IamMember"]
    ),
    role=st.sampled_from(["roles/run.invoker", "roles/run.developer", "roles/run.admin"]),
    project=st.sampled_from(["my-lab", "my-lab-2"]),
    location=st.sampled_from(["us-central1", "us-west4"]),
    name=st.sampled_from(["tidepool-ci-broker", "tidepool-nightly-broker", "tidepool-ci-controller", "another"]),
)
def test_a_fork_pool_does_nothing_but_call_and_calls_nothing_but_the_broker(
    kind: str, role: str, project: str, location: str, name: str
) -> None:
    asked = (kind, role, project, location, name)
    found = findings(calling(kind=kind, role=role, project=project, location=location, name=name), after=_SERVED)
    allowed = asked == (SERVICE_GRANT, "roles/run.invoker", "my-lab", "us-central1", "tidepool-ci-broker")
    assert rules(found) == ([] if allowed else ["forks-isolated"])


@pytest.mark.parametrize(
    "view",
    [
        vm(serviceAccount=UNKNOWN),
        vm(account=UNKNOWN),
        vm(name=UNKNOWN),
        bucket(labels=UNKNOWN),
        bucket(labels=LABELS | {"tidepool-owner": UNKNOWN}),
        job(image=UNKNOWN),
        grant(REPOSITORY_GRANT, UNKNOWN, UNKNOWN),
    ],
)
def test_a_value_that_only_an_apply_can_know_breaks_nothing(view: ResourceView) -> None:
    assert findings(view) == ()


@pytest.mark.parametrize("view", BREAKERS["no-secret-in-metadata"])
def test_no_finding_repeats_the_secret(view: ResourceView) -> None:
    said = str(findings(view))
    assert TOKEN not in said
    assert not any(word in said for word in ("correct horse", "MII", "hunter2", "0123456789abcdef"))


def test_every_type_of_the_embedded_provider_that_takes_labels_must_have_them() -> None:
    takes = {token for token, kind in TYPES.items() if {"labels", "resourceLabels", "userLabels"} & kind.fields.keys()}
    assert takes <= LABELLED.keys()


def test_one_run_says_everything_of_a_resource() -> None:
    found = findings(vm(metadata={"x": HIDDEN}, labels={"tidepool-pool": "tpu-ci"}, name="Upper"))
    assert set(rules(found)) == {"no-secret-in-metadata", "labels-say-owner", "name-within-limits"}
    assert rules(found).count("labels-say-owner") == 2
