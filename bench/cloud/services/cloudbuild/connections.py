"""Cloud Build v2: connections to GitHub, the repositories linked through them, and their policies.

A connection is complete as soon as it is made: the local GitHub has the Cloud Build app installed for everybody and
asks no person, where the real one waits for somebody to follow `actionUri`.
Source: cloud.google.com/build/docs/api/reference/rest/v2/projects.locations.connections, read 2026-11.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import JsonObject, failed_precondition, invalid, not_found
from bench.cloud.services import places
from bench.cloud.services.collection import Collection
from bench.cloud.services.secret_manager.api import SECRETS
from bench.cloud.store import Resource

_CONNECTIONS = "cloudbuild.projects.locations.connections"
_REPOSITORIES = f"{_CONNECTIONS}.repositories"
_SECRET_VERSION = re.compile(r"projects/([^/]+)/(secrets/[^/]+)/versions/[^/]+")
_GITHUB = re.compile(r"https://github\.com/[A-Za-z0-9-]+/[A-Za-z0-9._-]+?\.git")
_TYPE = "type.googleapis.com/google.devtools.cloudbuild.v2"
_VERBS = {"create": "create", "patch": "update", "delete": "delete"}


class _OfHosts(Collection):
    locations = frozenset({"global", *places.REGIONS})
    adds = ("createTime", "updateTime", "etag")
    seconds = MappingProxyType(dict.fromkeys(_VERBS, 6.0))

    def metadata(self, method: str, name: str) -> JsonObject:
        return {"@type": f"{_TYPE}.OperationMetadata", "target": name, "verb": _VERBS[method], "apiVersion": "v2"}


class _Connections(_OfHosts):
    api = _CONNECTIONS
    kind = "cloudbuild.connection"
    new_id = "connectionId"
    mask = "whole"
    message = f"{_TYPE}.Connection"
    has_policy = True

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if "githubConfig" not in body:
            raise invalid("A connection of the local cloud has a github_config.")
        credential = body["githubConfig"].get("authorizerCredential", {}).get("oauthTokenSecretVersion")
        if credential is not None:
            found = _SECRET_VERSION.fullmatch(credential)
            secret = f"projects/{cloud.project(found[1]).id}/{found[2]}" if found else credential
            if SECRETS.find(cloud, secret) is None:
                raise not_found(secret)
        return body

    def clear(self, call: ApiCall, held: Resource) -> None:
        if call.cloud.store.count(REPOSITORIES.kind, f"{held.name}/repositories/"):
            raise failed_precondition(f"Connection '{held.name}' still has repositories; unlink them first.")

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "installationState": {"stage": "COMPLETE"}}


CONNECTIONS = _Connections()


class _Repositories(_OfHosts):
    api = _REPOSITORIES
    kind = "cloudbuild.repository"
    methods = "create get list delete"
    above = CONNECTIONS
    new_id = "repositoryId"
    message = f"{_TYPE}.Repository"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        uri = body.get("remoteUri", "")
        if not _GITHUB.fullmatch(uri):
            raise invalid(f"'{uri}' is no https://github.com/OWNER/NAME.git.")
        return body


REPOSITORIES = _Repositories()
