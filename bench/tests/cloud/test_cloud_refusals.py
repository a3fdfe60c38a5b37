"""What Google documents as refused is refused, each with its field: labels, metadata, links, masks, roles."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from bench.tests.cloud.cloud_clients import A_WHILE, NODE, ZONE, ask

NODES = f"/v2/{ZONE}/nodes"
SECRETS = "/v1/projects/lab/secrets"
# Custom roles are named by projects whose ids have six characters at least, as all have at Google.
OWN_SECRETS = "/v1/projects/lab-one/secrets"
KILOBYTE = 1024


def create(cloud: TestCloud, **more: Any) -> tuple[int, Any]:
    return ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", {**NODE, **more})


def refused_field(answer: Any) -> str:
    return answer["error"]["details"][0]["fieldViolations"][0]["field"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata", {"startup-script": "x" * (256 * KILOBYTE + 1)}),
        ("metadata", {f"k{number}": "x" * 200 * KILOBYTE for number in range(3)}),
        ("metadata", {"a key": "x"}),
        ("metadata", {"k" * 129: "x"}),
        ("labels", {f"k{number}": "" for number in range(65)}),
        ("labels", {"k": "v" * 64}),
    ],
)
def test_metadata_and_labels_over_their_limits_are_refused(cloud: TestCloud, field: str, value: dict[str, str]) -> None:
    status, answer = create(cloud, **{field: value})
    assert (status, refused_field(answer)) == (400, f"node.{field}")
    assert create(cloud)[0] == 200
    cloud.wall.advance(A_WHILE)
    assert ask(cloud.url, "PATCH", f"{NODES}/vm-0?updateMask={field}", {field: value})[0] == 400


def test_metadata_at_its_limits_is_taken(cloud: TestCloud) -> None:
    value = "x" * 256 * KILOBYTE
    assert (
        create(cloud, metadata={"k" * 128: value, "b": value[:-200]}, labels={f"k{n}": "" for n in range(64)})[0] == 200
    )


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"network": "gone"}, "network"),
        ({"network": "global/networks/gone"}, "network"),
        ({"network": "projects/lab/global/networks/gone"}, "network"),
        ({"network": "https://www.googleapis.com/compute/v1/projects/lab/global/networks/gone"}, "network"),
        ({"network": "projects/lab/regions/us-west4/networks/default"}, "network"),
        ({"subnetwork": "gone"}, "subnetwork"),
        (
            {"subnetwork": "https://www.googleapis.com/compute/beta/projects/lab/regions/us-west4/subnetworks/x"},
            "subnetwork",
        ),
        ({"subnetwork": "projects/lab/regions/us-east1/subnetworks/default"}, "subnetwork"),
    ],
)
def test_a_network_that_does_not_exist_is_refused_in_every_form(
    cloud: TestCloud, config: dict[str, str], field: str
) -> None:
    for sent in ({"networkConfig": config}, {"networkConfigs": [config]}):
        status, answer = create(cloud, **sent)
        assert (status, refused_field(answer)) == (400, f"node.network_config.{field}")


@pytest.mark.parametrize(
    "network",
    ["default", "global/networks/default", "//compute.googleapis.com/compute/v1/projects/lab/global/networks/default"],
)
def test_a_network_that_exists_is_taken_in_every_form_and_echoed_as_sent(cloud: TestCloud, network: str) -> None:
    assert create(cloud, networkConfig={"network": network, "subnetwork": "default"})[0] == 200
    assert ask(cloud.url, "GET", f"{NODES}/vm-0")[1]["networkConfig"]["network"] == network


def test_a_network_of_another_project_is_taken_as_it_is(cloud: TestCloud) -> None:
    assert create(cloud, networkConfig={"network": "projects/host/global/networks/shared"})[0] == 200


@pytest.mark.parametrize("link", ["data", "zones/us-west4-a/disks/data", "projects/lab/zones/us-west4-a/disks/data"])
def test_a_disk_must_exist_in_the_zone_and_is_held_while_it_is_attached(cloud: TestCloud, link: str) -> None:
    disks = "/compute/v1/projects/lab/zones/us-west4-a/disks"
    wanted = {"dataDisks": [{"sourceDisk": link}]}
    status, answer = create(cloud, **wanted)
    assert (status, refused_field(answer)) == (400, "node.data_disks[0].source_disk")
    assert ask(cloud.url, "POST", disks, {"name": "data", "sizeGb": "5"})[0] == 400
    assert ask(cloud.url, "POST", disks, {"name": "data", "sizeGb": "100"})[0] == 200
    assert create(cloud, **wanted)[0] == 200
    everywhere = ask(cloud.url, "GET", "/compute/v1/projects/lab/aggregated/disks?filter=name%3Ddata")[1]["items"]
    assert [disk["sizeGb"] for disk in everywhere["zones/us-west4-a"]["disks"]] == ["100"]
    held = ask(cloud.url, "DELETE", f"{disks}/data")[1]["error"]
    assert held["errors"][0]["reason"] == "resourceInUseByAnotherResource"
    cloud.wall.advance(A_WHILE)
    elsewhere = {"dataDisks": [{"sourceDisk": "projects/lab/zones/us-west4-b/disks/data"}]}
    assert ask(cloud.url, "PATCH", f"{NODES}/vm-0?updateMask=data_disks", elsewhere)[0] == 400
    assert ask(cloud.url, "PATCH", f"{NODES}/vm-0?updateMask=dataDisks", {})[0] == 200
    assert ask(cloud.url, "DELETE", f"{disks}/data")[0] == 200


def test_a_mask_of_one_label_touches_that_label_alone(cloud: TestCloud) -> None:
    create(cloud, labels={"keep_me": "1", "change_me": "1", "drop_me": "1"})
    cloud.wall.advance(A_WHILE)
    mask = "labels.change_me,labels.drop_me"
    body = {"labels": {"change_me": "2", "keep_me": "ignored", "new": "ignored"}}
    assert ask(cloud.url, "PATCH", f"{NODES}/vm-0?updateMask={mask}", body)[0] == 200
    assert ask(cloud.url, "GET", f"{NODES}/vm-0")[1]["labels"] == {"keep_me": "1", "change_me": "2"}


@pytest.mark.parametrize(
    ("verb", "path", "mask"),
    [
        ("PATCH", f"{NODES}/vm-0", "label"),
        ("PATCH", f"{NODES}/vm-0", "labels,networkConfig.netwerk"),
        ("PATCH", f"{SECRETS}/s", "lables"),
        ("PATCH", "/v1/projects/lab/topics/some", "label"),
        ("PATCH", "/v1/projects/lab/subscriptions/some", "ack_deadline"),
        ("PATCH", "/v1/projects/lab/locations/us/repositories/r", "cleanup_policy"),
        ("PATCH", "/v1/projects/lab/locations/us/keyRings/r/cryptoKeys/k", "rotation"),
        ("PATCH", "/v2/projects/lab/locations/us-east1/connections/c", "githubConfig.appInstallation"),
        ("PATCH", "/v3/projects/lab/alertPolicies/1", "conditions.threshold"),
        ("PATCH", "/v1/projects/lab/locations/global/workloadIdentityPools/p/providers/q", "oidc.issuer"),
    ],
)
def test_a_mask_that_names_no_field_is_refused_by_every_service(
    cloud: TestCloud, verb: str, path: str, mask: str
) -> None:
    status, answer = ask(cloud.url, verb, f"{path}?updateMask={mask}", {})
    assert (status, refused_field(answer)) == (400, "updateMask")
    assert mask.rpartition(",")[2] in answer["error"]["message"]


def test_a_mask_beside_what_it_is_of_is_checked_as_well(cloud: TestCloud) -> None:
    status, answer = ask(
        cloud.url, "PATCH", "/v1/projects/lab/topics/some", {"topic": {}, "updateMask": "labels,label"}
    )
    assert (status, answer["error"]["message"]) == (
        400,
        "Invalid value at 'updateMask': the path 'label' names no field of the message.",
    )


def grant(cloud: TestCloud, role: str, **more: Any) -> int:
    policy = {"version": 3, "bindings": [{"role": role, "members": ["allUsers"], **more}]}
    return ask(cloud.url, "POST", f"{OWN_SECRETS}/s:setIamPolicy", {"policy": policy})[0]


@pytest.fixture
def secret(cloud: TestCloud) -> TestCloud:
    assert ask(cloud.url, "POST", f"{OWN_SECRETS}?secretId=s", {"replication": {"automatic": {}}})[0] == 200
    return cloud


def test_a_custom_role_may_be_named_once_it_exists_and_until_it_is_deleted(secret: TestCloud) -> None:
    name = "projects/lab-one/roles/tpuLister"
    assert grant(secret, name) == 400
    role = {"title": "TPU lister", "includedPermissions": ["tpu.nodes.list"], "stage": "GA"}
    made = ask(secret.url, "POST", "/v1/projects/lab-one/roles", {"roleId": "tpuLister", "role": role})[1]
    assert (made["name"], made["includedPermissions"]) == (name, ["tpu.nodes.list"])
    assert ask(secret.url, "POST", "/v1/projects/lab-one/roles", {"roleId": "tpuLister", "role": role})[0] == 409
    assert grant(secret, name) == 200
    assert ask(secret.url, "PATCH", f"/v1/{name}?updateMask=title", {"title": "x", "etag": "c3RhbGU="})[0] == 409
    changed = ask(secret.url, "PATCH", f"/v1/{name}?updateMask=title", {"title": "Lister", "etag": made["etag"]})[1]
    assert (changed["title"], changed["stage"]) == ("Lister", "GA")
    assert ask(secret.url, "GET", "/v1/projects/lab-one/roles")[1]["roles"][0]["title"] == "Lister"
    assert ask(secret.url, "DELETE", f"/v1/{name}")[1]["deleted"]
    assert grant(secret, name) == 400
    assert ask(secret.url, "GET", "/v1/projects/lab-one/roles")[1] == {}
    assert ask(secret.url, "POST", f"/v1/{name}:undelete", {})[0] == 200
    assert grant(secret, name) == 200
    ask(secret.url, "DELETE", f"/v1/{name}")
    secret.control.advance(8 * 86400)
    assert ask(secret.url, "GET", f"/v1/{name}")[0] == 404


@pytest.mark.parametrize(
    "role",
    [{"includedPermissions": ["tpu"]}, {"title": "x" * 101}, {"includedPermissions": ["tpu.nodes.*"]}],
)
def test_a_custom_role_outside_the_rules_is_refused(cloud: TestCloud, role: dict[str, Any]) -> None:
    assert ask(cloud.url, "POST", "/v1/projects/lab-one/roles", {"roleId": "abc", "role": role})[0] == 400


def test_a_role_of_a_service_that_nobody_publishes_is_refused(secret: TestCloud) -> None:
    assert grant(secret, "roles/tpuu.viewer") == 400
    assert grant(secret, "roles/bigquery.dataViewer") == 200
    assert grant(secret, "roles/cloudsql.client") == 200


@pytest.mark.parametrize(
    ("expression", "status"),
    [
        ("request.time < timestamp('2027-01-01T00:00:00Z')", 200),
        ("resource.name.startsWith('projects/_/buckets/b')", 200),
        ("request.time <", 400),
        ("requests.time < timestamp('2027-01-01T00:00:00Z')", 400),
        ("'always'", 400),
    ],
)
def test_the_condition_of_a_grant_is_an_expression_that_can_be_read(
    secret: TestCloud, expression: str, status: int
) -> None:
    condition = {"title": "for a while", "expression": expression}
    assert grant(secret, "roles/secretmanager.viewer", condition=condition) == status


POOL = "/v1/projects/lab/locations/global/workloadIdentityPools"


@pytest.mark.parametrize(
    ("mapping", "condition", "field"),
    [
        ({}, "assertion.repository = 'a/b'", "attribute_condition"),
        ({}, "assertion.repository == 'a/b", "attribute_condition"),
        ({}, "assertion.repository.beginsWith('a/')", "attribute_condition"),
        ({}, "'assertion.repository'", "attribute_condition"),
        ({}, "attribute.owner == 'a' && assertion.sub != ''", "attribute_condition"),
        ({}, "repository == 'a/b' || assertion.x", "attribute_condition"),
        ({"attribute.owner": "assertion."}, "assertion.a == 'b'", "attribute_mapping[attribute.owner]"),
        ({"attribute.owner": "attribute.other"}, "assertion.a == 'b'", "attribute_mapping[attribute.owner]"),
    ],
)
def test_a_malformed_mapping_or_condition_of_a_provider_is_refused(
    cloud: TestCloud, mapping: dict[str, str], condition: str, field: str
) -> None:
    ask(cloud.url, "POST", f"{POOL}?workloadIdentityPoolId=pool", {})
    body = {
        "attributeMapping": {"google.subject": "assertion.sub", **mapping},
        "attributeCondition": condition,
        "oidc": {"issuerUri": "https://token.actions.githubusercontent.com"},
    }
    path = f"{POOL}/pool/providers?workloadIdentityPoolProviderId=github"
    status, answer = ask(cloud.url, "POST", path, body)
    assert (status, refused_field(answer)) == (400, field)
    good = {
        "attributeMapping": {
            "google.subject": "'repo::' + assertion.repository",
            "attribute.owner": "{'1': 'us'}[assertion.owner_id]",
            "attribute.main": "assertion.ref == 'refs/heads/main' ? 'yes' : 'no'",
        },
        "attributeCondition": "attribute.owner in ['us'] && !has(assertion.fork) && assertion.aud.exists(a, a != '')",
    }
    assert ask(cloud.url, "POST", path, {**body, **good})[0] == 200
