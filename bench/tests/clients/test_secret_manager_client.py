"""google-cloud-secret-manager walks the life of a secret and its versions."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.cloud import secretmanager_v1 as secrets

PARENT = "projects/client-lab"
State = secrets.SecretVersion.State


@pytest.fixture
def manager(rest):
    return rest(secrets.SecretManagerServiceClient)


def make(manager, name: str, **more) -> str:
    sent = secrets.Secret(replication={"automatic": {}}, **more)
    return manager.create_secret(parent=PARENT, secret_id=name, secret=sent).name


def test_a_secret_and_its_versions_live_from_create_to_delete(manager):
    name = make(manager, "life", labels={"team": "a", "tier": "b"})
    first = manager.add_secret_version(parent=name, payload={"data": b"one"})
    manager.add_secret_version(parent=name, payload={"data": b"two"})
    assert first.state == State.ENABLED
    assert manager.access_secret_version(name=f"{name}/versions/latest").payload.data == b"two"
    assert manager.disable_secret_version(name=first.name).state == State.DISABLED
    with pytest.raises(exceptions.BadRequest, match="DISABLED"):
        manager.access_secret_version(name=first.name)
    enabled = manager.list_secret_versions({"parent": name, "filter": "state:ENABLED"})
    assert [each.name[-1] for each in enabled] == ["2"]

    held = manager.get_secret(name=name)
    change = secrets.Secret(name=name, etag=held.etag, labels={"team": "c"})
    changed = manager.update_secret(secret=change, update_mask={"paths": ["labels.team"]})
    assert dict(changed.labels) == {"team": "c", "tier": "b"}
    with pytest.raises(exceptions.Conflict, match=r"(?i)etag"):
        manager.update_secret(secret=change, update_mask={"paths": ["labels"]})
    with pytest.raises(exceptions.Conflict, match=r"(?i)etag"):
        manager.delete_secret({"name": name, "etag": held.etag})
    manager.delete_secret({"name": name, "etag": changed.etag})
    with pytest.raises(exceptions.NotFound):
        manager.get_secret(name=name)


def test_lists_have_pages_and_filters(manager):
    for name in ("listed-a", "listed-b", "listed-c"):
        make(manager, name, labels={"kind": name[-1]})
    with pytest.raises(exceptions.Conflict):
        make(manager, "listed-a")
    pages = manager.list_secrets({"parent": PARENT, "page_size": 2, "filter": "name:listed"}).pages
    assert [len(page.secrets) for page in pages] == [2, 1]
    found = manager.list_secrets({"parent": PARENT, "filter": "labels.kind=b OR labels.kind=c"})
    assert [each.name[-1] for each in found] == ["b", "c"]


def test_a_policy_is_written_with_its_etag(manager):
    resource = {"resource": make(manager, "shared")}
    policy = manager.get_iam_policy(resource)
    policy.bindings.add(role="roles/secretmanager.secretAccessor", members=["group:lab@example.org"])
    assert manager.get_iam_policy(resource).etag != manager.set_iam_policy({**resource, "policy": policy}).etag
    with pytest.raises(exceptions.Conflict, match=r"(?i)etag"):
        manager.set_iam_policy({**resource, "policy": policy})
