"""Artifact Registry: repositories and who may use them.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery document v1 (2026-10).
"""

from __future__ import annotations

from infra.local.provider.fields import block, blocks, exactly_one, flag, not_together, table, text, texts, whole
from infra.local.provider.operations import Wait
from infra.local.provider.policy import Endpoint, IamMember, qualifier
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.rest import Rest
from infra.local.provider.tables.common import COMMON, GRANT, LATE, PROJECT, TIDY_GRANT
from infra.local.provider.tables.rules import in_seconds, last_part, same_duration, same_last_part, same_text

_BASE = "v1"
_ITEM = Path("projects/{project}/locations/{location}/repositories/{repositoryId}")
_LOCATION = text(replaces=True, server=True, local=True)

_CONDITION = {
    "tagState": text(default="ANY", choices=("TAGGED", "UNTAGGED", "ANY")),
    "tagPrefixes": texts(),
    "versionNamePrefixes": texts(),
    "packageNamePrefixes": texts(),
    "olderThan": text(same=same_duration, spelled=in_seconds),
    "newerThan": text(same=same_duration, spelled=in_seconds),
}

_ONE_UPSTREAM = (not_together("publicRepository", "customRepository"),)
_CUSTOM_UPSTREAM = block({"uri": text(replaces=True)}, replaces=True)

_UPSTREAM = {
    "description": text(replaces=True),
    "dockerRepository": block(
        {"publicRepository": text(replaces=True, choices=("DOCKER_HUB",)), "customRepository": _CUSTOM_UPSTREAM},
        replaces=True,
        relations=_ONE_UPSTREAM,
    ),
    "pythonRepository": block(
        {"publicRepository": text(replaces=True, choices=("PYPI",)), "customRepository": _CUSTOM_UPSTREAM},
        replaces=True,
        relations=_ONE_UPSTREAM,
    ),
    "commonRepository": block({"uri": text(required=True, replaces=True)}, replaces=True),
    "disableUpstreamValidation": flag(),
    "upstreamCredentials": block(
        {
            "usernamePasswordCredentials": block({"username": text(), "passwordSecretVersion": text()}),
        }
    ),
}

_REPOSITORY = {
    "repositoryId": text(required=True, replaces=True, local=True),
    "location": _LOCATION,
    **COMMON,
    "format": text(required=True, replaces=True, same=same_text),
    "mode": text(
        replaces=True,
        default="STANDARD_REPOSITORY",
        choices=("STANDARD_REPOSITORY", "VIRTUAL_REPOSITORY", "REMOTE_REPOSITORY"),
    ),
    "description": text(),
    "labels": table(),
    "kmsKeyName": text(replaces=True),
    "cleanupPolicies": blocks(
        {
            "id": text(required=True),
            "action": text(choices=("DELETE", "KEEP")),
            "condition": block(_CONDITION),
            "mostRecentVersions": block({"packageNamePrefixes": texts(), "keepCount": whole()}),
        },
        keyed="id",
    ),
    "cleanupPolicyDryRun": flag(),
    "dockerConfig": block({"immutableTags": flag()}, keeps_empty=True),
    "remoteRepositoryConfig": block(
        _UPSTREAM,
        replaces=True,
        relations=(exactly_one("dockerRepository", "pythonRepository", "commonRepository"),),
    ),
    "virtualRepositoryConfig": block(
        {"upstreamPolicies": blocks({"id": text(), "repository": text(), "priority": whole()}, unordered=True)}
    ),
    "vulnerabilityScanningConfig": block(
        {
            "enablementConfig": text(choices=("INHERITED", "DISABLED")),
            "enablementState": text(computed=True),
            "enablementStateReason": text(computed=True),
        },
        server=True,
    ),
    "name": text(computed=True),
    "registryUri": text(computed=True),
    "createTime": text(computed=True),
    "updateTime": text(computed=True),
}

REPOSITORY = ResourceType(
    "gcp:artifactregistry/repository:Repository",
    noun="Repository",
    identity=_ITEM,
    fields=_REPOSITORY,
    relations=(not_together("remoteRepositoryConfig", "virtualRepositoryConfig"),),
    labelled=True,
    imports=2,
    derived={"name": Path("{repositoryId}")},
    calls=Rest(
        base=_BASE,
        collection=Path("projects/{project}/locations/{location}/repositories"),
        item=_ITEM,
        fields=_REPOSITORY,
        query={"repositoryId": Path("{repositoryId}")},
        create_wait=Wait.LRO,
        delete_wait=Wait.LRO,
    ),
)

_OWNER = Path("projects/{project}/locations/{location}/repositories/{repository}")

REPOSITORY_IAM_MEMBER = ResourceType(
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember",
    noun="RepositoryIamMember",
    identity=Path(f"{_OWNER.template}/{{role}}/{{member}}"),
    fields={
        "repository": text(required=True, replaces=True, local=True, same=same_last_part),
        "location": _LOCATION,
        "project": PROJECT,
        **GRANT,
    },
    derived={"repository": _OWNER},
    tidied={"repository": last_part, **TIDY_GRANT},
    late=LATE,
    qualified=qualifier,
    calls=IamMember(
        owner=Path(f"{_BASE}/{_OWNER.template}"),
        get=Endpoint(method="GET", suffix=":getIamPolicy"),
        put=Endpoint(method="POST", suffix=":setIamPolicy"),
    ),
)

TYPES = (REPOSITORY, REPOSITORY_IAM_MEMBER)
