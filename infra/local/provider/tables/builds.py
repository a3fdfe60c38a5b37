"""Cloud Build: triggers of its first API; connections, their repositories and grants of its second.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery documents cloudbuild v1 and v2
(2026-09 to 2026-10).
"""

from __future__ import annotations

from infra.local.provider.checker import Naming
from infra.local.provider.fields import block, blocks, exactly_one, flag, table, text, texts, whole
from infra.local.provider.operations import Wait
from infra.local.provider.policy import Endpoint, IamMember, qualifier
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.rest import Rest
from infra.local.provider.tables.common import COMMON, GRANT, LATE, PROJECT, TIDY_GRANT
from infra.local.provider.tables.rules import last_part, same_last_part
from infra.local.provider.trigger import Trigger, steps_fit_into_the_build

_V1, _V2 = "v1", "v2"
_TRIGGERS = "projects/{project}/locations/{location}/triggers"
_CONNECTIONS = "projects/{project}/locations/{location}/connections"
_CONNECTION_PATH = Path(f"{_CONNECTIONS}/{{parentConnection}}")
_REPOSITORIES = f"{_CONNECTION_PATH.template}/repositories"
_COMMENTS = ("COMMENTS_DISABLED", "COMMENTS_ENABLED", "COMMENTS_ENABLED_FOR_EXTERNAL_CONTRIBUTORS_ONLY")

_STEP = {
    "name": text(required=True),
    "id": text(),
    "entrypoint": text(),
    "args": texts(),
    "script": text(),
    "dir": text(),
    "envs": texts(wire="env"),
    "secretEnvs": texts(wire="secretEnv"),
    "timeout": text(),
    "timing": text(),
    "waitFors": texts(wire="waitFor"),
    "allowFailure": flag(),
}

_OPTIONS = {
    "machineType": text(),
    "diskSizeGb": whole(wire_text=True),
    "logging": text(
        choices=("LOGGING_UNSPECIFIED", "LEGACY", "GCS_ONLY", "STACKDRIVER_ONLY", "CLOUD_LOGGING_ONLY", "NONE")
    ),
    "dynamicSubstitutions": flag(always=True),
    "substitutionOption": text(choices=("MUST_MATCH", "ALLOW_LOOSE")),
    "requestedVerifyOption": text(choices=("NOT_VERIFIED", "VERIFIED")),
    "logStreamingOption": text(choices=("STREAM_DEFAULT", "STREAM_ON", "STREAM_OFF")),
    "envs": texts(wire="env"),
    "workerPool": text(),
}

_BUILD = {
    "steps": blocks(_STEP, required=True),
    "timeout": text(default="600s"),
    "queueTtl": text(),
    "logsBucket": text(),
    "tags": texts(),
    "images": texts(),
    "substitutions": table(),
    "options": block(_OPTIONS),
}

_TRIGGER = {
    "triggerId": text(wire="id", computed=True),
    "name": text(server=True),
    "location": text(default="global", replaces=True, local=True),
    **COMMON,
    "description": text(),
    "disabled": flag(),
    "tags": texts(),
    "substitutions": table(),
    "filter": text(),
    "includedFiles": texts(),
    "ignoredFiles": texts(),
    "includeBuildLogs": text(choices=("INCLUDE_BUILD_LOGS_UNSPECIFIED", "INCLUDE_BUILD_LOGS_WITH_STATUS")),
    "serviceAccount": text(),
    "filename": text(),
    "build": block(_BUILD),
    "approvalConfig": block({"approvalRequired": flag()}, server=True),
    "repositoryEventConfig": block(
        {
            "repository": text(),
            "push": block(
                {
                    "branch": text(),
                    "tag": text(),
                    "invertRegex": flag(),
                }
            ),
            "pullRequest": block({"branch": text(), "commentControl": text(choices=_COMMENTS), "invertRegex": flag()}),
        }
    ),
    "pubsubConfig": block(
        {
            "topic": text(required=True),
            "serviceAccountEmail": text(),
            "state": text(computed=True),
            "subscription": text(computed=True),
        }
    ),
    "createTime": text(computed=True),
}

TRIGGER = ResourceType(
    "gcp:cloudbuild/trigger:Trigger",
    noun="Trigger",
    identity=Path(f"{_TRIGGERS}/{{triggerId}}"),
    fields=_TRIGGER,
    schema_version=2,
    relations=(exactly_one("build", "filename"),),
    rules=(steps_fit_into_the_build,),
    naming=Naming(longest=255),
    shortened=lambda text: text.replace("/locations/global/", "/"),
    imports=1,
    assigned={"triggerId": "id"},
    # The service takes a trigger's name wherever it takes its id.
    sought=Path(f"{_TRIGGERS}/{{name}}"),
    calls=Trigger(
        base=_V1,
        collection=Path(_TRIGGERS),
        item=Path(f"{_TRIGGERS}/{{triggerId}}"),
        fields=_TRIGGER,
    ),
)

_DESCRIBED = {
    "createTime": text(computed=True),
    "updateTime": text(computed=True),
    "etag": text(computed=True),
    "effectiveAnnotations": table(wire="annotations", computed=True),
}

_CONNECTION = {
    "name": text(replaces=True, local=True),
    "location": text(required=True, replaces=True, local=True),
    **COMMON,
    "annotations": table(),
    "disabled": flag(),
    "githubConfig": block(
        {
            "appInstallationId": whole(wire_text=True),
            "authorizerCredential": block({"oauthTokenSecretVersion": text(), "username": text(computed=True)}),
        }
    ),
    "installationStates": blocks(
        {"stage": text(computed=True), "message": text(computed=True), "actionUri": text(computed=True)},
        wire="installationState",
        computed=True,
    ),
    "reconciling": flag(computed=True),
    **_DESCRIBED,
}

CONNECTION = ResourceType(
    "gcp:cloudbuildv2/connection:Connection",
    noun="Connection",
    identity=Path(f"{_CONNECTIONS}/{{name}}"),
    fields=_CONNECTION,
    naming=Naming(longest=255),
    imports=1,
    calls=Rest(
        base=_V2,
        collection=Path(_CONNECTIONS),
        item=Path(f"{_CONNECTIONS}/{{name}}"),
        fields=_CONNECTION,
        query={"connectionId": Path("{name}")},
        create_wait=Wait.LRO,
        update_wait=Wait.LRO,
        delete_wait=Wait.LRO,
        whole=True,
    ),
)

_REPOSITORY = {
    "name": text(replaces=True, local=True),
    "parentConnection": text(required=True, replaces=True, local=True, same=same_last_part),
    "location": text(replaces=True, server=True, local=True),
    "project": PROJECT,
    "deletionPolicy": COMMON["deletionPolicy"],
    "remoteUri": text(required=True, replaces=True),
    "annotations": table(replaces=True),
    **_DESCRIBED,
}

REPOSITORY = ResourceType(
    "gcp:cloudbuildv2/repository:Repository",
    noun="Repository",
    identity=Path(f"{_REPOSITORIES}/{{name}}"),
    fields=_REPOSITORY,
    naming=Naming(longest=255),
    imports=3,
    derived={"parentConnection": _CONNECTION_PATH},
    tidied={"parentConnection": last_part},
    calls=Rest(
        base=_V2,
        collection=Path(_REPOSITORIES),
        item=Path(f"{_REPOSITORIES}/{{name}}"),
        fields=_REPOSITORY,
        query={"repositoryId": Path("{name}")},
        create_wait=Wait.LRO,
        delete_wait=Wait.LRO,
    ),
)

_OWNER = Path(f"{_CONNECTIONS}/{{name}}")

CONNECTION_IAM_MEMBER = ResourceType(
    "gcp:cloudbuildv2/connectionIAMMember:ConnectionIAMMember",
    noun="ConnectionIAMMember",
    identity=Path(f"{_OWNER.template}/{{role}}/{{member}}"),
    fields={
        "name": text(required=True, replaces=True, local=True, same=same_last_part),
        "location": text(replaces=True, server=True, local=True),
        "project": PROJECT,
        **GRANT,
    },
    derived={"name": _OWNER},
    tidied={"name": last_part, **TIDY_GRANT},
    late=LATE,
    qualified=qualifier,
    calls=IamMember(
        owner=Path(f"{_V2}/{_OWNER.template}"),
        get=Endpoint(method="GET", suffix=":getIamPolicy"),
        put=Endpoint(method="POST", suffix=":setIamPolicy"),
    ),
)

TYPES = (TRIGGER, CONNECTION, REPOSITORY, CONNECTION_IAM_MEMBER)
