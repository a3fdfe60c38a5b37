"""Cloud Build v2: connections to a host of repositories, the repositories linked through them, and their policies.

Owns installation states, linking, and the tokens that builds read source with. A connection is complete as soon as
it is made: the local GitHub has the Cloud Build app installed for everybody and asks no person, where the real one
waits for somebody to follow `actionUri`. A token opens nothing here.
Source: cloud.google.com/build/docs/api/reference/rest/v2/projects.locations.connections, read 2026-11.
"""

from __future__ import annotations

import hashlib
import re

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import aborted, already_exists, failed_precondition, invalid, not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, cloudbuild_names, listings, policies
from infra.local.cloud.store import Resource

CONNECTION = "cloudbuild.connection"
REPOSITORY = "cloudbuild.repository"
_SECRET = "secretmanager.secret"  # noqa: S105 - a kind of resource
_ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_REPOSITORY_ID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_HOSTS = (
    "githubConfig", "githubEnterpriseConfig", "gitlabConfig", "bitbucketDataCenterConfig", "bitbucketCloudConfig",
)  # fmt: skip
_SECRET_VERSION = re.compile(r"projects/([^/]+)/secrets/([^/]+)/versions/[^/]+")
_MUTABLE = frozenset({"annotations", "disabled", *_HOSTS})
_GITHUB = re.compile(r"https://github\.com/([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+?)\.git")
# Realistic durations, in seconds; a token lives an hour.
_CHANGE_SECONDS = 6.0
_TOKEN_SECONDS = 3600.0
_TYPE = "type.googleapis.com/google.devtools.cloudbuild.v2"


@handles("cloudbuild.projects.locations.connections.create")
def create_connection(call: Call) -> JsonObject:
    parent, identity = cloudbuild_names.parent(call), call.params.get("connectionId", "")
    if not _ID.fullmatch(identity):
        raise invalid(
            f"Invalid connection id '{identity}': it must start with a lowercase letter, hold at most 63 lowercase "
            "letters, digits and dashes, and not end with a dash.",
            field="connection_id",
        )
    if cloudbuild_names.location_of(parent) == cloudbuild_names.GLOBAL:
        raise invalid("A connection is regional: it cannot be made in global.", field="parent")
    name = f"{parent}/connections/{identity}"
    body = _checked(call.cloud, bodies.without_unset(_without_identity(call.body)))
    made = call.cloud.store.insert(CONNECTION, name, body, now=call.cloud.now)
    return _operation(call, "create", name, {"@type": f"{_TYPE}.Connection", **_shown(made)})


@handles("cloudbuild.projects.locations.connections.get")
def get_connection(call: Call) -> JsonObject:
    return _shown(_connection(call))


@handles("cloudbuild.projects.locations.connections.list")
def list_connections(call: Call) -> JsonObject:
    prefix = f"{cloudbuild_names.parent(call)}/connections/"
    return listings.stored(call, "connections", CONNECTION, prefix, _shown)


@handles("cloudbuild.projects.locations.connections.patch")
def patch_connection(call: Call) -> JsonObject:
    """Without a mask the body is the whole connection, as the Google provider sends it."""
    held = _connection(call)
    _check_etag(call.params.get("etag") or call.body.get("etag"), held)
    mask = call.params.get("updateMask") or "*"
    body = _checked(call.cloud, bodies.masked(held.body, _without_identity(call.body), mask, mutable=_MUTABLE))
    changed = call.cloud.store.replace(held, body, now=call.cloud.now)
    return _operation(call, "update", held.name, {"@type": f"{_TYPE}.Connection", **_shown(changed)})


@handles("cloudbuild.projects.locations.connections.delete")
def delete_connection(call: Call) -> JsonObject:
    held = _connection(call)
    _check_etag(call.params.get("etag"), held)
    if call.cloud.store.count(REPOSITORY, f"{held.name}/repositories/"):
        raise failed_precondition(f"Connection '{held.name}' still has repositories; unlink them first.")
    call.cloud.store.delete(CONNECTION, held.name)
    policies.forget(call.cloud, held.name)
    return _operation(call, "delete", held.name)


@handles("cloudbuild.projects.locations.connections.fetchLinkableRepositories")
def list_linkable_repositories(call: Call) -> JsonObject:
    """What the local GitHub holds and this connection does not link yet."""
    held = _connection(call)
    linked = {each.body["remoteUri"] for each in call.cloud.store.each(REPOSITORY, f"{held.name}/repositories/")}
    page = call.cloud.store.page("github.repository", "", call.params)
    uris = [f"https://github.com/{each.body['full_name']}.git" for each in page.resources]
    return bodies.listing("repositories", [{"remoteUri": uri} for uri in uris if uri not in linked], page.next_token)


policies.serve(
    "cloudbuild.projects.locations.connections",
    lambda call: ((held := _connection(call)).name, cloudbuild_names.project_of(held.name)),
)


@handles("cloudbuild.projects.locations.connections.repositories.create")
def create_repository(call: Call) -> JsonObject:
    made = _link(call, _connection(call), call.params.get("repositoryId", ""), call.body)
    return _operation(call, "create", made.name, {"@type": f"{_TYPE}.Repository", **_shown_repository(made)})


@handles("cloudbuild.projects.locations.connections.repositories.batchCreate")
def create_repositories(call: Call) -> JsonObject:
    connection = _connection(call)
    made = [
        _link(call, connection, each.get("repositoryId", ""), each.get("repository", {}))
        for each in call.body.get("requests", [])
    ]
    shown = {"repositories": [_shown_repository(each) for each in made]}
    return _operation(call, "create", connection.name, {"@type": f"{_TYPE}.BatchCreateRepositoriesResponse", **shown})


@handles("cloudbuild.projects.locations.connections.repositories.get")
def get_repository(call: Call) -> JsonObject:
    return _shown_repository(_repository(call))


@handles("cloudbuild.projects.locations.connections.repositories.list")
def list_repositories(call: Call) -> JsonObject:
    prefix = f"{_connection(call).name}/repositories/"
    return listings.stored(call, "repositories", REPOSITORY, prefix, _shown_repository)


@handles("cloudbuild.projects.locations.connections.repositories.delete")
def delete_repository(call: Call) -> JsonObject:
    held = _repository(call)
    _check_etag(call.params.get("etag"), held)
    call.cloud.store.delete(REPOSITORY, held.name)
    return _operation(call, "delete", held.name)


@handles(
    "cloudbuild.projects.locations.connections.repositories.accessReadToken",
    "cloudbuild.projects.locations.connections.repositories.accessReadWriteToken",
)
def access_token(call: Call) -> JsonObject:
    """A token made of the repository and the hour; no server here looks at it."""
    held = _repository(call)
    if _connection(call).body.get("disabled"):
        raise failed_precondition(f"Connection '{held.name.rpartition('/repositories/')[0]}' is disabled.")
    hour = int(call.cloud.now // _TOKEN_SECONDS)
    digest = hashlib.sha256(f"{call.method} {held.name} {hour}".encode()).hexdigest()
    return {"token": f"local_{digest[:36]}", "expirationTime": timestamp(call.cloud.now + _TOKEN_SECONDS)}


def github_name(repository: Resource) -> str:
    """`owner/name` of a linked repository; empty for one that is not at GitHub."""
    found = _GITHUB.fullmatch(repository.body["remoteUri"])
    return found[1] if found else ""


def connection_of(cloud: Cloud, repository: Resource) -> Resource:
    return cloud.store.get(CONNECTION, repository.name.rpartition("/repositories/")[0])


def _connection(call: Call) -> Resource:
    return call.cloud.store.get(CONNECTION, f"{cloudbuild_names.parent(call)}/connections/{call.ids['connectionsId']}")


def _repository(call: Call) -> Resource:
    return call.cloud.store.get(REPOSITORY, f"{_connection(call).name}/repositories/{call.ids['repositoriesId']}")


def _link(call: Call, connection: Resource, identity: str, sent: JsonObject) -> Resource:
    if not _REPOSITORY_ID.fullmatch(identity):
        raise invalid(
            f"Invalid repository id '{identity}': it must hold 1 to 63 letters, digits, dots, dashes and underscores.",
            field="repository_id",
        )
    if not sent.get("remoteUri", "").startswith("https://") or not sent["remoteUri"].endswith(".git"):
        raise invalid("remote_uri must be the HTTPS URL to clone from, ending in .git.", field="repository.remote_uri")
    if "githubConfig" in connection.body and not _GITHUB.fullmatch(sent["remoteUri"]):
        raise invalid(
            f"'{sent['remoteUri']}' is no repository of github.com, which the connection is for.",
            field="repository.remote_uri",
        )
    for other in call.cloud.store.each(REPOSITORY, f"{connection.name}/repositories/"):
        if other.body["remoteUri"] == sent["remoteUri"] and not other.name.endswith(f"/{identity}"):
            raise already_exists(other.name)
    name = f"{connection.name}/repositories/{identity}"
    return call.cloud.store.insert(REPOSITORY, name, bodies.without_unset(_without_identity(sent)), now=call.cloud.now)


def _without_identity(body: JsonObject) -> JsonObject:
    return {key: value for key, value in body.items() if key not in ("name", "etag")}


def _checked(cloud: Cloud, body: JsonObject) -> JsonObject:
    hosts = [host for host in _HOSTS if host in body]
    if len(hosts) != 1:
        raise invalid(f"A connection has exactly one of {', '.join(_HOSTS)}.", field="connection")
    credential = body[hosts[0]].get("authorizerCredential", {}).get("oauthTokenSecretVersion")
    if credential is not None:
        found = _SECRET_VERSION.fullmatch(credential)
        field = "connection.github_config.authorizer_credential.oauth_token_secret_version"
        if found is None:
            raise invalid(f"'{credential}' is no name of a secret version.", field=field)
        secret = f"projects/{cloud.project(found[1]).id}/secrets/{found[2]}"
        if cloud.store.find(_SECRET, secret) is None:
            raise not_found(secret)
    return body


def _check_etag(sent: str | None, held: Resource) -> None:
    if sent and sent != held.etag:
        raise aborted(f"The etag '{sent}' is not the current one of '{held.name}'.")


def _shown(held: Resource) -> JsonObject:
    return {
        "name": held.name,
        "createTime": timestamp(held.created),
        "updateTime": timestamp(held.updated),
        "installationState": {"stage": "COMPLETE"},
        "etag": held.etag,
        **held.body,
    }


def _shown_repository(held: Resource) -> JsonObject:
    return {
        "name": held.name,
        "createTime": timestamp(held.created),
        "updateTime": timestamp(held.updated),
        "etag": held.etag,
        **held.body,
    }


def _operation(call: Call, verb: str, target: str, response: JsonObject | None = None) -> JsonObject:
    metadata = {"@type": f"{_TYPE}.OperationMetadata", "target": target, "verb": verb, "apiVersion": "v2"}
    return call.cloud.operations.lro(
        cloudbuild_names.parent(call), seconds=_CHANGE_SECONDS, metadata=metadata, response=response
    )
