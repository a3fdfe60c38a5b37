"""Pulumi programs that break rules, from the program's own words to the finding."""

from __future__ import annotations

from collections.abc import Callable

import pulumi
import pulumi_gcp as gcp
import pytest

from infra.rules.view import ResourceView
from tests.program.fake_engine import build
from tests.rules.right_edits import LABELS, MEMBER, findings, rules

ACCOUNT = gcp.tpu.V2VmServiceAccountArgs(email=MEMBER)
POOL = LABELS | {"tidepool-pool": "tpu-ci", "tidepool-trust": "member"}


def vm_without_an_account() -> None:
    gcp.tpu.V2Vm("vm", name="vm", zone="us-west4-a", runtime_version="r", labels=POOL)


def vm_with_an_address_that_no_pool_has() -> None:
    gcp.tpu.V2Vm(
        "vm",
        name="vm",
        zone="us-west4-a",
        runtime_version="r",
        labels=LABELS,
        service_account=ACCOUNT,
        network_config=gcp.tpu.V2VmNetworkConfigArgs(enable_external_ips=True),
    )


def vm_with_a_secret_in_its_metadata() -> None:
    gcp.tpu.V2Vm(
        "vm",
        name="vm",
        zone="us-west4-a",
        runtime_version="r",
        labels=POOL,
        service_account=ACCOUNT,
        metadata={"registration-token": "AABBCCDDEEFFGG"},
    )


def bucket_without_protection() -> None:
    gcp.storage.Bucket("fleet", name="my-lab-fleet", location="us", labels=LABELS)


def registry_without_labels() -> None:
    gcp.artifactregistry.Repository(
        "marin", repository_id="marin", location="us", format="DOCKER", opts=pulumi.ResourceOptions(protect=True)
    )


def role_on_the_project() -> None:
    gcp.projects.IAMMember("all", project="my-lab", role="roles/tpu.admin", member=f"serviceAccount:{MEMBER}")


def key_of_an_account() -> None:
    gcp.serviceaccount.Key("key", service_account_id=MEMBER)


def job_by_a_tag() -> None:
    container = gcp.cloudrunv2.JobTemplateTemplateContainerArgs(image="us-docker.pkg.dev/my-lab/marin/job:latest")
    template = gcp.cloudrunv2.JobTemplateTemplateArgs(service_account=MEMBER, containers=[container])
    gcp.cloudrunv2.Job(
        "job", location="us-west4", labels=LABELS, template=gcp.cloudrunv2.JobTemplateArgs(template=template)
    )


def account_with_too_long_a_name() -> None:
    gcp.serviceaccount.Account("account", account_id="a" * 31)


def trigger_that_builds_in_a_tag() -> None:
    step = gcp.cloudbuild.TriggerBuildStepArgs(name="docker.io/library/docker:29-cli", args=["version"])
    gcp.cloudbuild.Trigger(
        "trigger",
        location="us-central1",
        service_account=f"projects/my-lab/serviceAccounts/{MEMBER}",
        build=gcp.cloudbuild.TriggerBuildArgs(steps=[step]),
    )


def trigger_that_is_off() -> None:
    step = gcp.cloudbuild.TriggerBuildStepArgs(name=f"docker.io/library/docker@sha256:{'0' * 64}")
    gcp.cloudbuild.Trigger(
        "trigger",
        location="us-central1",
        disabled=True,
        service_account=f"projects/my-lab/serviceAccounts/{MEMBER}",
        build=gcp.cloudbuild.TriggerBuildArgs(steps=[step]),
    )


PROGRAMS: dict[str, Callable[[], None]] = {
    "no-default-account": vm_without_an_account,
    "external-ip-declared": vm_with_an_address_that_no_pool_has,
    "no-secret-in-metadata": vm_with_a_secret_in_its_metadata,
    "protected": bucket_without_protection,
    "labels-say-owner": registry_without_labels,
    "grant-on-one-resource": role_on_the_project,
    "no-account-key": key_of_an_account,
    "image-by-digest": job_by_a_tag,
    "name-within-limits": account_with_too_long_a_name,
    "build-by-digest": trigger_that_builds_in_a_tag,
    "trigger-on": trigger_that_is_off,
}


@pytest.mark.parametrize("rule", PROGRAMS)
def test_a_program_that_breaks_a_rule_is_found(rule: str) -> None:
    built = build(PROGRAMS[rule], stack="ci", config={"gcp:project": "my-lab"})
    views = [
        ResourceView(type=each.type, name=each.name, urn=each.urn, inputs=each.inputs, protect=each.protect)
        for each in built.resources.values()
    ]
    assert set(rules(findings(*views))) == {rule}
