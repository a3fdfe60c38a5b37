"""Cloud Build v1: triggers, in global and in regions.

Owns their identifiers (a UUID the service makes, beside the name a person gives), updates, and that what a trigger
refers to exists. Served are triggers with a build of their own, on pushes to a linked repository, messages and runs by
hand; of file filters those that `infra.model.images.globs` reads. Leaves what a trigger does to `firing`.
Source: cloud.google.com/build/docs/api/reference/rest/v1/projects.triggers, read 2026-11.
"""

from __future__ import annotations

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import ApiError, JsonObject, already_exists, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.cloudbuild.builds import check_build, made_id
from bench.cloud.services.cloudbuild.connections import REPOSITORIES
from bench.cloud.services.collection import Collection
from bench.cloud.services.policies import check_account
from bench.cloud.services.pubsub import api as pubsub
from bench.cloud.store import Resource
from infra.model.images.globs import is_path_filter

_UNSERVED = frozenset(
    {"filename", "gitFileSource", "autodetect", "github", "webhookConfig", "triggerTemplate", "filter",
     "approvalConfig"}
)  # fmt: skip


class _Triggers(Collection):
    api = "cloudbuild.projects.locations.triggers"
    kind = "cloudbuild.trigger"
    locations = frozenset({"global", *places.REGIONS})
    identity = "id"
    # As the document says and the Google provider relies on.
    mask = "whole"

    def asked_id(self, call: ApiCall) -> str:
        return made_id(call.cloud, self.kind)

    def kept(self, sent: JsonObject) -> JsonObject:
        """With the name that a person gave."""
        return bodies.without_unset(sent)

    def found(self, call: ApiCall) -> Resource:
        """By id, or by the name a person gave. Raises 404."""
        prefix, asked = self.prefix(call), self.id_of(call)
        held = self.find(call.cloud, prefix + asked) or self._called(call.cloud, prefix, asked)
        if held is None:
            raise self.missing(call.cloud, prefix + asked)
        return held

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        prefix, slash, identity = name.rpartition("/")
        body.setdefault("name", f"trigger-{identity[:8]}")
        _check(cloud, prefix.removesuffix("/triggers"), body)
        same = self._called(cloud, prefix + slash, body["name"])
        if same is not None and same.name != name:
            raise already_exists(f"{prefix}/{body['name']}")
        return body

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        body, identity = held.body, held.name.rpartition("/")[2]
        if "pubsubConfig" in body:
            project = held.name.split("/")[1]
            subscription = f"projects/{project}/subscriptions/gcb-{body['name']}"
            body["pubsubConfig"] = {**body["pubsubConfig"], "subscription": subscription, "state": "OK"}
        if "repositoryEventConfig" in body:
            body["repositoryEventConfig"] = {**body["repositoryEventConfig"], "repositoryType": "GITHUB"}
        return {"resourceName": held.name, "id": identity, "createTime": timestamp(held.created), **body}

    def _called(self, cloud: Cloud, prefix: str, name: str) -> Resource | None:
        return next((held for held in cloud.store.each(self.kind, prefix) if held.body["name"] == name), None)


TRIGGERS = _Triggers()


def _check(cloud: Cloud, parent: str, body: JsonObject) -> None:
    """parent: `projects/P/locations/L`. Raises 400 and 501, or 404 for what a trigger refers to."""
    if unserved := sorted(_UNSERVED & body.keys()):
        raise ApiError(501, f"The local cloud has no triggers with {' and '.join(unserved)}.")
    for key in ("includedFiles", "ignoredFiles"):
        for pattern in body.get(key, []):
            if not is_path_filter(pattern):
                raise ApiError(501, f"The local cloud does not read the file filter '{pattern}'.")
    check_build({"serviceAccount": body.get("serviceAccount"), **body.get("build", {})})
    check_account(cloud, parent.split("/")[1], body.get("serviceAccount", "").rpartition("/")[2])
    if config := body.get("repositoryEventConfig"):
        REPOSITORIES.named(cloud, config.get("repository", ""))
        if not config["repository"].startswith(f"{parent}/") or "push" not in config:
            raise invalid("A trigger answers pushes to repositories of its own location.")
    if "pubsubConfig" in body:
        pubsub.TOPICS.named(cloud, body["pubsubConfig"].get("topic", ""))
