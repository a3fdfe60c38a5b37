"""Pub/Sub topics and who may publish to them, and the Cloud Scheduler jobs that do.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery documents pubsub v1 and
cloudscheduler v1 (2026-10 to 2026-11).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from infra.local.provider.checker import Naming
from infra.local.provider.fields import at_least_one, block, exactly_one, flag, table, text, texts, whole
from infra.local.provider.messages import Job, Topic
from infra.local.provider.policy import Endpoint, IamMember, qualifier
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.tables.common import COMMON, GRANT, LATE, PROJECT, TIDY_GRANT
from infra.local.provider.tables.rules import last_part, same_last_part

_BASE = "v1"
_TOPIC_PATH = Path("projects/{project}/topics/{name}")
_JOB_PATH = Path("projects/{project}/locations/{region}/jobs/{name}")


def _is_base64(value: str) -> str | None:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        return "not in base64, as the service takes it"
    return None


def _are_headers(headers: dict[str, str]) -> str | None:
    wrong = sorted(key for key in headers if key == "Content-Length" or re.search("X-Google-|X-AppEngine-", key))
    return f"Cloud Scheduler sets {', '.join(wrong)} itself" if wrong else None


def _same_uri(old: str, new: str) -> bool:
    return old.removesuffix("/") == new.removesuffix("/")


def _is_uri_itself(old: Any, new: Any, _: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """An audience that nobody names is the target's address."""
    return not new and old == (wanted.get("httpTarget") or {}).get("uri")


def _has_one_token(values: Mapping[str, Any]) -> str | None:
    target = values.get("httpTarget")
    if not isinstance(target, Mapping) or not {"oauthToken", "oidcToken"} <= target.keys():
        return None
    return "Error in http_target: only one of oauth_token or oidc_token can be specified, but not both."


_DEADLINE = "180s"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"

_TOPIC = {
    "name": text(replaces=True, local=True, same=same_last_part),
    **COMMON,
    "labels": table(),
    "kmsKeyName": text(),
    "messageRetentionDuration": text(),
    "messageStoragePolicy": block(
        {"allowedPersistenceRegions": texts(required=True, unordered=True), "enforceInTransit": flag()}, server=True
    ),
    "schemaSettings": block(
        {
            "schema": text(required=True),
            "encoding": text(default="ENCODING_UNSPECIFIED", choices=("ENCODING_UNSPECIFIED", "JSON", "BINARY")),
        }
    ),
}

TOPIC = ResourceType(
    "gcp:pubsub/topic:Topic",
    noun="Topic",
    identity=_TOPIC_PATH,
    fields=_TOPIC,
    labelled=True,
    naming=Naming(longest=255),
    imports=1,
    tidied={"name": last_part},
    calls=Topic(base=_BASE, collection=Path("projects/{project}/topics"), item=_TOPIC_PATH, fields=_TOPIC),
)

_OWNER = Path("projects/{project}/topics/{topic}")

TOPIC_IAM_MEMBER = ResourceType(
    "gcp:pubsub/topicIAMMember:TopicIAMMember",
    noun="TopicIAMMember",
    identity=Path(f"{_OWNER.template}/{{role}}/{{member}}"),
    fields={
        "topic": text(required=True, replaces=True, local=True, same=same_last_part),
        "project": PROJECT,
        **GRANT,
    },
    derived={"topic": _OWNER},
    tidied={"topic": last_part, **TIDY_GRANT},
    late=LATE,
    qualified=qualifier,
    calls=IamMember(
        owner=Path(f"{_BASE}/{_OWNER.template}"),
        get=Endpoint(method="GET", suffix=":getIamPolicy"),
        put=Endpoint(method="POST", suffix=":setIamPolicy"),
    ),
)

_JOB = {
    "name": text(replaces=True, local=True),
    "region": text(replaces=True, server=True, local=True),
    **COMMON,
    "description": text(),
    "schedule": text(),
    "timeZone": text(default="Etc/UTC"),
    "attemptDeadline": text(
        default=_DEADLINE, hidden=lambda old, new, *_: {old or _DEADLINE, new or _DEADLINE} == {_DEADLINE}
    ),
    "paused": flag(server=True),
    "retryConfig": block(
        {
            "retryCount": whole(server=True),
            "maxRetryDuration": text(server=True),
            "minBackoffDuration": text(server=True),
            "maxBackoffDuration": text(server=True),
            "maxDoublings": whole(server=True),
        },
        relations=(
            at_least_one("retryCount", "maxRetryDuration", "minBackoffDuration", "maxBackoffDuration", "maxDoublings"),
        ),
    ),
    "pubsubTarget": block({"topicName": text(required=True), "data": text(rule=_is_base64), "attributes": table()}),
    "httpTarget": block(
        {
            "uri": text(required=True, same=_same_uri),
            "httpMethod": text(),
            "body": text(rule=_is_base64),
            "headers": table(rule=_are_headers),
            "oauthToken": block(
                {
                    "serviceAccountEmail": text(required=True),
                    "scope": text(hidden=lambda old, new, *_: not new and old == _SCOPE),
                }
            ),
            "oidcToken": block({"serviceAccountEmail": text(required=True), "audience": text(hidden=_is_uri_itself)}),
        },
    ),
    "state": text(computed=True),
}

JOB = ResourceType(
    "gcp:cloudscheduler/job:Job",
    noun="Job",
    identity=_JOB_PATH,
    fields=_JOB,
    relations=(exactly_one("pubsubTarget", "httpTarget"),),
    rules=(_has_one_token,),
    naming=Naming(longest=255),
    imports=1,
    calls=Job(
        base=_BASE,
        collection=Path("projects/{project}/locations/{region}/jobs"),
        item=_JOB_PATH,
        fields=_JOB,
        whole=True,
    ),
)

TYPES = (TOPIC, TOPIC_IAM_MEMBER, JOB)
