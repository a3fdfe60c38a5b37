"""Rules over resources at their edges, on both sides, and the words of every finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.model.schema import StackConfig
from infra.rules.view import HIDDEN, UNKNOWN, ResourceView
from tests.model.given import pool
from tests.rules.right_edits import (
    FORK,
    JOB,
    LABELS,
    MEMBER,
    POOLS,
    REPOSITORY_GRANT,
    config,
    findings,
    fork_vm,
    grant,
    reporting,
    resource,
    rules,
    vm,
)
from tests.rules.test_node_grants import NODES
from tests.rules.test_resource_rules import BREAKERS, DIGEST, FIREWALL, SERVICE, job, trigger

GOLDEN = Path(__file__).parent / "golden" / "findings.txt"
INSTANCE = "gcp:compute/instance:Instance"
PROJECT_GRANT = "gcp:projects/iAMMember:IAMMember"
SECOND = "tidepool-ci-pool-strangers@my-lab.iam.gserviceaccount.com"
TWO_FORKS = config(POOLS + pool(name="strangers", trust="fork"))
READER = "roles/artifactregistry.reader"


def instance(**inputs: Any) -> ResourceView:
    return resource(INSTANCE, {"labels": LABELS, "serviceAccount": {"email": MEMBER}} | inputs)


def service(**inputs: Any) -> ResourceView:
    return resource("gcp:cloudrunv2/service:Service", SERVICE | inputs)


def reports_of_both(**inputs: Any) -> ResourceView:
    """The reports of pool forks, granted to the accounts of two fork pools, neither of which is named first."""
    right = reporting("forks")
    members = [f"serviceAccount:{each}" for each in (MEMBER, FORK, SECOND)]
    return resource(right.type, {**right.inputs, "member": None, "members": members, **inputs})


def nested(depth: int, *, several: bool = False) -> ResourceView:
    """A job with an environment below so many keys, or so many lists."""
    inputs: Any = {"env": [{"name": "WANDB_API_KEY", "value": "0123456789abcdef"}]}
    for _ in range(depth):
        inputs = [inputs] if several else {"template": inputs}
    return resource(JOB, {"labels": LABELS, "template": {"template": {"serviceAccount": MEMBER}}, "deep": inputs})


def setting(name: str, value: object) -> ResourceView:
    return vm(metadata={name: value})


def environment(*entries: object) -> ResourceView:
    return job(envs=list(entries))


WRONG: dict[str, tuple[ResourceView, set[str]]] = {
    "a VM of forks whose pool is gone": (
        vm("gone", "fork", account=FORK, networkConfig={"enableExternalIps": True}),
        {"forks-isolated", "external-ip-declared"},
    ),
    "a VM of a fork pool without the label of its trust": (
        vm(labels=LABELS | {"tidepool-pool": "forks"}, networkConfig={}),
        {"forks-isolated"},
    ),
    "a VM of forks that runs as another fork pool": (fork_vm(account=SECOND), {"forks-isolated"}),
    "a second disk that forks write": (
        fork_vm(dataDisks=[{"mode": "READ_ONLY"}, {"mode": "READ_WRITE"}]),
        {"forks-isolated"},
    ),
    "a VM of forks with two addresses": (
        fork_vm(networkConfig=None, networkConfigs=["?", {}, {"enableExternalIps": True}]),
        {"forks-isolated"},
    ),
    "a key that forks read": (
        grant("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember", "roles/viewer", f"serviceAccount:{FORK}"),
        {"forks-isolated", "grant-on-one-resource"},
    ),
    "a second member that is a fork pool": (
        resource(
            "gcp:storage/bucketIAMBinding:BucketIAMBinding",
            {"role": "roles/storage.admin", "members": [f"serviceAccount:{MEMBER}", f"serviceAccount:{FORK}"]},
        ),
        {"forks-isolated", "grant-adds"},
    ),
    "reports of another fork pool": (reports_of_both(), {"forks-isolated"}),
    "reports by a longer condition": (
        reports_of_both(
            member=f"serviceAccount:{FORK}",
            members=[],
            condition={"expression": f"{reporting('forks').inputs['condition']['expression']} || true"},
        ),
        {"forks-isolated"},
    ),
    "reports without a condition": (
        reports_of_both(member=f"serviceAccount:{FORK}", members=[], condition=None),
        {"forks-isolated"},
    ),
    "a role on a billing account": (
        grant("gcp:billing/accountIamMember:AccountIamMember", UNKNOWN, f"serviceAccount:{MEMBER}"),
        {"grant-on-one-resource"},
    ),
    "the viewer of a repository": (
        grant(REPOSITORY_GRANT, "roles/viewer", f"serviceAccount:{MEMBER}"),
        {"grant-on-one-resource"},
    ),
    "an unknown role for everybody with an account": (
        grant(REPOSITORY_GRANT, UNKNOWN, "allAuthenticatedUsers"),
        {"no-public-grant"},
    ),
    "a second member that is everybody": (
        resource(
            "gcp:artifactregistry/repositoryIamBinding:RepositoryIamBinding",
            {"role": READER, "members": [f"serviceAccount:{MEMBER}", "allUsers"]},
        ),
        {"no-public-grant", "grant-adds"},
    ),
    "what nodes of a cluster may, where there is no cluster": (
        grant(PROJECT_GRANT, "roles/logging.logWriter", NODES, project="my-lab"),
        {"grant-on-one-resource"},
    ),
    "an API key": (resource("gcp:projects/apiKey:ApiKey", {"name": "key"}), {"no-account-key"}),
    "a VM that names nothing as its account": (vm(account=""), {"no-default-account"}),
    "a service that names no account": (service(template={}), {"no-default-account"}),
    "Cloud Build's own account": (
        trigger(serviceAccount="projects/my-lab/serviceAccounts/1@cloudbuild.gserviceaccount.com"),
        {"no-default-account"},
    ),
    "a second address of an instance": (
        instance(networkInterfaces=["?", {}, {"ipv6AccessConfigs": [{}]}]),
        {"external-ip-declared"},
    ),
    "an address that is said to be external": (
        resource("gcp:compute/address:Address", {"labels": LABELS, "addressType": "EXTERNAL"}),
        {"external-ip-declared"},
    ),
    "a firewall for all of IPv6": (resource(FIREWALL, {"sourceRanges": ["10.0.0.0/8", "::/0"]}), {"no-way-in"}),
    "a firewall for anywhere with a tag": (
        resource(FIREWALL, {"sourceRanges": ["0.0.0.0/0"], "sourceTags": ["a"], "direction": "INGRESS"}),
        {"no-way-in"},
    ),
    "a key among the labels of a cluster": (
        resource("gcp:container/cluster:Cluster", {"resourceLabels": LABELS | {"Bad Key": "x"}}),
        {"name-within-limits"},
    ),
    "a description that is hidden": (trigger(description=HIDDEN), {"no-secret-in-metadata"}),
    "a hidden value below an annotation": (
        resource(JOB, {**job().inputs, "annotations": {"a": [HIDDEN]}}),
        {"no-secret-in-metadata"},
    ),
    "a secret of eight letters": (setting("wandb.password", "12345678"), {"no-secret-in-metadata"}),
    "a hidden value of an environment": (environment({"name": "TOKEN", "value": HIDDEN}), {"no-secret-in-metadata"}),
    "the second of two settings": (
        environment("?", {"name": 1, "value": "x"}, {"value": "x"}, {"name": "A_TOKEN", "value": "0123456789abcdef"}),
        {"no-secret-in-metadata"},
    ),
    "an environment as deep as is looked": (nested(15), {"no-secret-in-metadata"}),
    "an environment of lists as deep as is looked": (nested(14, several=True), {"no-secret-in-metadata"}),
    "a trigger that is off and does not say why": (trigger(disabled=True), {"trigger-on"}),
    "a digest that is too long": (
        trigger(build={"steps": ["?", {"args": []}, {"name": f"{DIGEST}0"}]}),
        {"build-by-digest"},
    ),
}
RIGHT: dict[str, ResourceView] = {
    "forks that read a bucket": grant(
        "gcp:storage/bucketIAMMember:BucketIAMMember", "roles/storage.objectViewer", f"serviceAccount:{FORK}"
    ),
    "a role for forks that only an apply knows": grant(REPOSITORY_GRANT, UNKNOWN, f"serviceAccount:{FORK}"),
    "a person on a repository": grant(REPOSITORY_GRANT, READER, "user:default"),
    "all names of one person": grant(REPOSITORY_GRANT, READER, "principal://iam.googleapis.com/subject/*"),
    "members that are no texts": grant(REPOSITORY_GRANT, READER, "user:default", members=[7, None, {}]),
    "everybody in what gives no role": resource("gcp:cloudidentity/group:Group", {"members": ["allUsers"]}),
    "a service whose callers Google asks": service(invokerIamDisabled=False),
    "a service whose template only an apply knows": service(template=UNKNOWN),
    "a VM whose account is hidden": vm(account=HIDDEN),
    "a firewall that is off": resource(FIREWALL, {"sourceRanges": ["0.0.0.0/0"], "disabled": True}),
    "a firewall from a tag": resource(FIREWALL, {"sourceTags": ["a"], "allows": [{"protocol": "tcp"}]}),
    "a firewall from an account": resource(FIREWALL, {"sourceServiceAccounts": [MEMBER]}),
    "an instance of one inner address": instance(networkInterfaces=[{"network": "n", "accessConfigs": []}]),
    "a secret of seven letters": setting("wandb.password", "1234567"),
    "a number that is named like a secret": setting("token", 12345678),
    "a name that begins like a secret's": setting("tokenizer", "sentencepiece"),
    "a name that ends like a secret's": setting("mytoken", "sentencepiece"),
    "a setting that names a file of a secret": setting("token", "gs://my-lab-ci/tokens/broker"),
    "an environment deeper than is looked": nested(16),
    "an environment of lists deeper than is looked": nested(16, several=True),
    "steps of what is no trigger": resource(JOB, {**job().inputs, "build": {"steps": [{"name": "python:3"}]}}),
    "a step whose image is hidden": trigger(build={"steps": [{"name": HIDDEN}]}),
}


def judged_in(name: str) -> StackConfig:
    """Two fork pools where a case speaks of the second one."""
    return TWO_FORKS if "another fork pool" in name else config()


@pytest.mark.parametrize(("name", "view", "broken"), [(name, *case) for name, case in WRONG.items()], ids=WRONG)
def test_what_is_wrong_by_a_little_is_found(name: str, view: ResourceView, broken: set[str]) -> None:
    assert set(rules(findings(view, after=judged_in(name)))) == broken


@pytest.mark.parametrize("view", RIGHT.values(), ids=RIGHT)
def test_what_is_right_by_a_little_is_not_found(view: ResourceView) -> None:
    assert findings(view) == ()


def test_a_fork_pool_writes_its_reports_beside_another_fork_pool() -> None:
    (found,) = findings(reports_of_both(), after=TWO_FORKS)
    assert found.reason == "fork pool strangers is granted roles/storage.objectUser, which does more than read"


def test_the_words_of_every_finding_are_those_that_were_read_last(update_goldens: bool) -> None:
    cases = [*((view, config()) for views in BREAKERS.values() for view in views)]
    cases += [(view, judged_in(name)) for name, (view, _) in WRONG.items()]
    said = {finding: None for view, stack in cases for finding in findings(view, after=stack)}
    lines = [f"{each.rule} ({each.level})\n  {each.subject}: {each.reason}\n  {each.fix}\n" for each in said]
    text = "".join(sorted(lines))
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"
