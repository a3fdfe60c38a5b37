"""google-cloud-artifact-registry walks the life of a repository."""

from __future__ import annotations

from google.cloud import artifactregistry_v1 as artifacts

PARENT = "projects/client-lab/locations/us-west4"
PYTHON = artifacts.Repository.Format.PYTHON


def test_a_repository_lives_from_create_to_delete(rest):
    registry = rest(artifacts.ArtifactRegistryClient)
    sent = artifacts.Repository(format_=PYTHON, description="wheels", labels={"team": "a"})
    begun = registry.create_repository(parent=PARENT, repository_id="wheels", repository=sent)
    made = begun.result()
    assert made.format_ == PYTHON, "8, which is not its place in the list of formats"
    assert begun.metadata == artifacts.OperationMetadata(), "this message has no fields"
    assert registry.get_repository(name=made.name).description == "wheels"

    change = artifacts.Repository(name=made.name, labels={"team": "b", "tier": "x"}, description="ignored")
    changed = registry.update_repository(repository=change, update_mask={"paths": ["labels.tier"]})
    assert (dict(changed.labels), changed.description) == ({"team": "a", "tier": "x"}, "wheels")
    resource = {"resource": made.name}
    policy = registry.get_iam_policy(resource)
    policy.bindings.add(role="roles/artifactregistry.reader", members=["allUsers"])
    written = registry.set_iam_policy({**resource, "policy": policy})
    assert registry.get_iam_policy(resource) == written
    registry.delete_repository(name=made.name).result()
    assert list(registry.list_repositories(parent=PARENT)) == []
