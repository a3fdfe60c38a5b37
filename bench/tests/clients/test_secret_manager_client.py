"""google-cloud-secret-manager walks the life of a secret and its versions."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.cloud import secretmanager_v1 as secrets

PARENT = "projects/client-lab"
State = secrets.SecretVersion.State


def test_a_secret_and_its_versions_live_from_create_to_delete(rest):
    manager = rest(secrets.SecretManagerServiceClient)
    sent = secrets.Secret(replication={"automatic": {}}, labels={"team": "a", "tier": "b"})
    name = manager.create_secret(parent=PARENT, secret_id="life", secret=sent).name
    first = manager.add_secret_version(parent=name, payload={"data": b"one"})
    manager.add_secret_version(parent=name, payload={"data": b"two"})
    assert first.state == State.ENABLED
    assert manager.access_secret_version(name=f"{name}/versions/latest").payload.data == b"two"
    assert manager.disable_secret_version(name=first.name).state == State.DISABLED
    enabled = manager.list_secret_versions({"parent": name, "filter": "state:ENABLED"})
    assert [each.name[-1] for each in enabled] == ["2"]

    held = manager.get_secret(name=name)
    change = secrets.Secret(name=name, etag=held.etag, labels={"team": "c"})
    changed = manager.update_secret(secret=change, update_mask={"paths": ["labels.team"]})
    assert dict(changed.labels) == {"team": "c", "tier": "b"}
    with pytest.raises(exceptions.Conflict, match=r"(?i)etag"):
        manager.update_secret(secret=change, update_mask={"paths": ["labels"]})
    listed = manager.list_secrets({"parent": PARENT, "filter": "name:life AND labels.team=c"})
    assert [each.name for each in listed] == [name]
    manager.delete_secret({"name": name, "etag": changed.etag})
    with pytest.raises(exceptions.NotFound):
        manager.get_secret(name=name)
