"""IAM policies: etags, members, roles and conditions, on one resource; every other resource has the same code."""

from __future__ import annotations

from typing import Any

import pytest

from bench.tests.cloud.cloud_clients import Direct

SECRET = "/v1/projects/a-lab/secrets/s"
READER = {"role": "roles/viewer", "members": ["user:ann@example.org"]}
TIMED = {"title": "until June", "expression": 'request.time < timestamp("2027-06-01T00:00:00Z")'}


@pytest.fixture
def secret() -> Direct:
    direct = Direct()
    direct.ask("POST", "/v1/projects/a-lab/secrets?secretId=s", {"replication": {"automatic": {}}})
    direct.ask("POST", "/v1/projects/a-lab/serviceAccounts", {"accountId": "runner"})
    return direct


def put(direct: Direct, **policy: Any) -> tuple[int, Any]:
    return direct.ask("POST", f"{SECRET}:setIamPolicy", {"policy": policy})


MEMBERS = [
    (200, "allUsers"), (200, "allAuthenticatedUsers"), (200, "group:lab@example.org"), (200, "domain:example.org"),
    (200, "projectOwner:policy-lab"), (200, "serviceAccount:elsewhere@another-project.iam.gserviceaccount.com"),
    (200, "serviceAccount:runner@a-lab.iam.gserviceaccount.com"),
    (200, "serviceAccount:123456-compute@developer.gserviceaccount.com"),
    (200, "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/attribute.a/b"),
    (200, "deleted:serviceAccount:old@policy-lab.iam.gserviceaccount.com?uid=123"),
    (200, "serviceAccount:a-lab.svc.id.goog[ns/name]"), (400, "serviceAccount:gone@a-lab.iam.gserviceaccount.com"),
    (400, "ann@example.org"), (400, "person:ann@example.org"), (400, "user:ann"), (400, "serviceAccount:"),
    (400, "domain:"), (400, "principal://x"), (400, "everyone"),
]  # fmt: skip
ROLES = [
    (200, "roles/owner"), (200, "roles/tpu.viewer"), (200, "roles/bigquery.dataViewer"), (200, "roles/cloudsql.client"),
    (200, "projects/policy-lab/roles/tpuLister"), (200, "roles/compute.instanceAdmin.v1"), (400, "viewer"), (400, ""),
    (400, "roles/reader"), (400, "roles/storage.objectReader"), (400, "roles/tpu.user"),
]  # fmt: skip
CONDITIONS = [
    (200, 3, TIMED), (400, 1, TIMED), (400, 3, {"title": "t"}), (400, 3, {"expression": "true"}),
    (200, 3, {"title": "t", "expression": "resource.name.startsWith('projects/_/buckets/b')"}),
    (400, 3, {"title": "t", "expression": "request.time <"}), (400, 3, {"title": "t", "expression": "'always'"}),
    (400, 3, {"title": "t", "expression": "requests.time < timestamp('2027-01-01T00:00:00Z')"}),
]  # fmt: skip


def test_members_roles_and_conditions_that_google_refuses_are_refused(secret: Direct) -> None:
    rows = [
        *((status, {"bindings": [{**READER, "members": [member]}]}) for status, member in MEMBERS),
        *((status, {"bindings": [{**READER, "role": role}]}) for status, role in ROLES),
        *(
            (status, {"version": version, "bindings": [{**READER, "condition": condition}]})
            for status, version, condition in CONDITIONS
        ),
    ]
    for status, policy in rows:
        found, answer = put(secret, **policy)
        assert found == status, policy
        if found == 200:
            assert answer["bindings"] == policy["bindings"]


def test_a_policy_is_kept_as_one_binding_a_role_and_goes_with_its_resource(secret: Direct) -> None:
    bound = {**READER, "condition": TIMED}
    empty = {"role": "roles/owner", "members": []}
    kept = put(
        secret, version=3, bindings=[READER, bound, empty, {**READER, "members": ["allUsers", *READER["members"]]}]
    )
    both = {**READER, "members": [*READER["members"], "allUsers"]}
    assert (kept[1]["version"], kept[1]["bindings"]) == (3, [both, bound])
    secret.ask("DELETE", SECRET)
    assert secret.ask("GET", f"{SECRET}:getIamPolicy")[0] == 404
    secret.ask("POST", "/v1/projects/a-lab/secrets?secretId=s", {"replication": {"automatic": {}}})
    assert secret.ask("GET", f"{SECRET}:getIamPolicy")[1] == {"version": 1, "etag": "ACAB"}


def test_a_deleted_account_stays_in_policies_as_what_it_was(secret: Direct) -> None:
    account = "/v1/projects/a-lab/serviceAccounts/runner@a-lab.iam.gserviceaccount.com"
    made = secret.ask("GET", account)[1]
    put(secret, bindings=[{"role": "roles/viewer", "members": [f"serviceAccount:{made['email']}"]}])
    secret.ask("DELETE", account)
    got = secret.ask("GET", f"{SECRET}:getIamPolicy")[1]
    assert got["bindings"][0]["members"] == [f"deleted:serviceAccount:{made['email']}?uid={made['uniqueId']}"]
    secret.wall.advance(1)
    again = secret.ask("POST", "/v1/projects/a-lab/serviceAccounts", {"accountId": "runner"})[1]
    assert again["uniqueId"] != made["uniqueId"]
    assert put(secret, **got)[0] == 200
