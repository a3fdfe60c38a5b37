"""Cloud Build v2: connections to a host of repositories, the repositories linked through them, and their policies.

Owns installation states, linking, and the tokens that builds read source with. A connection is complete as soon as
it is made: the local GitHub has the Cloud Build app installed for everybody and asks no person, where the real one
waits for somebody to follow `actionUri`. A token opens nothing here.
Source: cloud.google.com/build/docs/api/reference/rest/v2/projects.locations.connections, read 2026-11.
"""

from __future__ import annotations

import hashlib
import re
from types import MappingProxyType

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, already_exists, failed_precondition, invalid, not_found
from bench.cloud.services import places
from bench.cloud.services.collection import LOWERCASE_ID, LOWERCASE_RULE, Collection
from bench.cloud.services.listings import page
from bench.cloud.services.secret_manager.api import SECRETS
from bench.cloud.store import Resource

_CONNECTIONS = "cloudbuild.projects.locations.connections"
_REPOSITORIES = f"{_CONNECTIONS}.repositories"
_HOSTS = (
    "githubConfig", "githubEnterpriseConfig", "gitlabConfig", "bitbucketDataCenterConfig", "bitbucketCloudConfig",
)  # fmt: skip
_SECRET_VERSION = re.compile(r"projects/([^/]+)/(secrets/[^/]+)/versions/[^/]+")
_GITHUB = re.compile(r"https://github\.com/([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+?)\.git")
_TOKEN_SECONDS = 3600.0
_TYPE = "type.googleapis.com/google.devtools.cloudbuild.v2"
_VERBS = {"create": "create", "batchCreate": "create", "patch": "update", "delete": "delete"}


class _OfHosts(Collection):
    locations = frozenset({"global", *places.REGIONS})
    fixed = None
    adds = ("createTime", "updateTime", "etag")
    seconds = MappingProxyType(dict.fromkeys(_VERBS, 6.0))

    def metadata(self, method: str, name: str) -> JsonObject:
        return {"@type": f"{_TYPE}.OperationMetadata", "target": name, "verb": _VERBS[method], "apiVersion": "v2"}


class _Connections(_OfHosts):
    api = _CONNECTIONS
    kind = "cloudbuild.connection"
    new_id = "connectionId"
    id_form = LOWERCASE_ID
    id_rule = LOWERCASE_RULE
    mutable = frozenset({"annotations", "disabled", *_HOSTS})
    mask = "whole"
    message = f"{_TYPE}.Connection"
    has_policy = True

    def create(self, call: ApiCall) -> JsonObject:
        if call.ids["locationsId"] == "global":
            raise invalid("A connection is regional: it cannot be made in global.", field="parent")
        return super().create(call)

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        hosts = [host for host in _HOSTS if host in body]
        if len(hosts) != 1:
            raise invalid(f"A connection has exactly one of {', '.join(_HOSTS)}.", field="connection")
        credential = body[hosts[0]].get("authorizerCredential", {}).get("oauthTokenSecretVersion")
        if credential is not None:
            found = _SECRET_VERSION.fullmatch(credential)
            field = "connection.github_config.authorizer_credential.oauth_token_secret_version"
            if found is None:
                raise invalid(f"'{credential}' is not the name of a secret version.", field=field)
            secret = f"projects/{cloud.project(found[1]).id}/{found[2]}"
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
    id_form = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
    id_rule = "it must hold 1 to 63 letters, digits, dots, dashes and underscores"
    message = f"{_TYPE}.Repository"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        uri, connection = body.get("remoteUri", ""), CONNECTIONS.named(cloud, name.rpartition("/repositories/")[0])
        if not uri.startswith("https://") or not uri.endswith(".git"):
            raise invalid(
                "remote_uri must be the HTTPS URL to clone from, ending in .git.", field="repository.remote_uri"
            )
        if "githubConfig" in connection.body and not _GITHUB.fullmatch(uri):
            raise invalid(
                f"'{uri}' is not a repository of github.com, which the connection is for.",
                field="repository.remote_uri",
            )
        for other in linked(cloud, connection):
            if other.body["remoteUri"] == uri:
                raise already_exists(other.name)
        return body


REPOSITORIES = _Repositories()


@handles(f"{_REPOSITORIES}.batchCreate")
def create_repositories(call: ApiCall) -> JsonObject:
    connection, shown = CONNECTIONS.found(call), []
    for each in call.body.get("requests", []):
        name = f"{connection.name}/repositories/{REPOSITORIES.checked_id(each.get('repositoryId', ''))}"
        body = REPOSITORIES.checked(call.cloud, name, REPOSITORIES.kept(each.get("repository", {})))
        shown.append(REPOSITORIES.shown(call.cloud, REPOSITORIES.made(call.cloud, name, body)))
    response = {"@type": f"{_TYPE}.BatchCreateRepositoriesResponse", "repositories": shown}
    return REPOSITORIES.operation(call, "batchCreate", connection.name, response)


@handles(f"{_CONNECTIONS}.fetchLinkableRepositories")
def list_linkable_repositories(call: ApiCall) -> JsonObject:
    """What the local GitHub holds and this connection does not link yet."""
    known = {each.body["remoteUri"] for each in linked(call.cloud, CONNECTIONS.found(call))}
    uris = [f"https://github.com/{each.body['full_name']}.git" for each in call.cloud.store.each("github.repository")]
    found = [{"remoteUri": uri} for uri in uris if uri not in known]
    return page(call, "repositories", found, identity="remoteUri")


@handles(f"{_REPOSITORIES}.accessReadToken", f"{_REPOSITORIES}.accessReadWriteToken")
def access_token(call: ApiCall) -> JsonObject:
    """A token made of the repository and the hour; no server here looks at it."""
    held = REPOSITORIES.found(call)
    if (connection := connection_of(call.cloud, held)).body.get("disabled"):
        raise failed_precondition(f"Connection '{connection.name}' is disabled.")
    hour = int(call.cloud.now // _TOKEN_SECONDS)
    digest = hashlib.sha256(f"{call.method} {held.name} {hour}".encode()).hexdigest()
    return {"token": f"local_{digest[:36]}", "expirationTime": timestamp(call.cloud.now + _TOKEN_SECONDS)}


def linked(cloud: Cloud, connection: Resource) -> list[Resource]:
    return list(cloud.store.each(REPOSITORIES.kind, f"{connection.name}/repositories/"))


def github_name(repository: Resource) -> str:
    """`owner/name` of a linked repository; empty for one that is not at GitHub."""
    found = _GITHUB.fullmatch(repository.body["remoteUri"])
    return found[1] if found else ""


def connection_of(cloud: Cloud, repository: Resource) -> Resource:
    return CONNECTIONS.named(cloud, repository.name.rpartition("/repositories/")[0])
