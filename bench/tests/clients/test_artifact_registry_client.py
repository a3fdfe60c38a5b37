"""google-cloud-artifact-registry walks the life of a repository."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.cloud import artifactregistry_v1 as artifacts

PARENT = "projects/client-lab/locations/us-west4"
DOCKER, PYTHON = artifacts.Repository.Format.DOCKER, artifacts.Repository.Format.PYTHON


@pytest.fixture
def registry(rest):
    return rest(artifacts.ArtifactRegistryClient)


def test_a_repository_lives_from_create_to_delete(registry):
    sent = artifacts.Repository(format_=PYTHON, description="wheels", labels={"team": "a"})
    begun = registry.create_repository(parent=PARENT, repository_id="wheels", repository=sent)
    made = begun.result()
    assert made.format_ == PYTHON, "8, which is not its place in the list of formats"
    assert begun.metadata == artifacts.OperationMetadata(), "this message has no fields"
    assert registry.get_repository(name=made.name).description == "wheels"

    change = artifacts.Repository(name=made.name, labels={"team": "b", "tier": "x"}, description="ignored")
    changed = registry.update_repository(repository=change, update_mask={"paths": ["labels.tier"]})
    assert (dict(changed.labels), changed.description) == ({"team": "a", "tier": "x"}, "wheels")
    with pytest.raises(exceptions.BadRequest, match="names no field"):
        registry.update_repository(repository=change, update_mask={"paths": ["lables"]})

    registry.delete_repository(name=made.name).result()
    with pytest.raises(exceptions.NotFound):
        registry.get_repository(name=made.name)


def test_lists_have_pages_filters_and_orders(registry):
    for name in ("a", "b", "c"):
        sent = artifacts.Repository(format_=DOCKER, description=f"of {name}")
        registry.create_repository(parent=PARENT, repository_id=name, repository=sent)
    with pytest.raises(exceptions.Conflict):
        registry.create_repository(parent=PARENT, repository_id="a", repository=sent)
    assert len(list(registry.list_repositories({"parent": PARENT, "page_size": 2}).pages)) == 2
    asked = {
        "parent": PARENT,
        "filter": f'name="{PARENT}/repositories/*" NOT description:"of b"',
        "order_by": "name desc",
    }
    assert [each.name[-1] for each in registry.list_repositories(asked)] == ["c", "a"]
    with pytest.raises(exceptions.BadRequest, match="colour"):
        registry.list_repositories({"parent": PARENT, "filter": "colour=red"})


def test_a_policy_is_written_with_its_etag(registry):
    registry.create_repository(parent=PARENT, repository_id="shared", repository={"format_": DOCKER})
    resource = {"resource": f"{PARENT}/repositories/shared"}
    policy = registry.get_iam_policy(resource)
    policy.bindings.add(role="roles/artifactregistry.reader", members=["allUsers"])
    written = registry.set_iam_policy({**resource, "policy": policy})
    assert registry.get_iam_policy(resource) == written
    with pytest.raises(exceptions.Conflict, match=r"(?i)etag"):
        registry.set_iam_policy({**resource, "policy": policy})
    policy.bindings[0].role, policy.etag = "roles/artifactregistry.redder", written.etag
    with pytest.raises(exceptions.BadRequest, match="redder"):
        registry.set_iam_policy({**resource, "policy": policy})
    asked = {**resource, "permissions": ["artifactregistry.repositories.get"]}
    assert list(registry.test_iam_permissions(asked).permissions) == asked["permissions"]
