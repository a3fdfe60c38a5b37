"""Pub/Sub topics and who may publish to them, and the Cloud Scheduler jobs that do.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery documents pubsub v1 and
cloudscheduler v1 (2026-10 to 2026-11).
"""

from __future__ import annotations

import base64
import binascii

from infra.local.provider.checker import Naming
from infra.local.provider.fields import block, flag, table, text, texts, whole
from infra.local.provider.messages import Job, Topic
from infra.local.provider.policy import Endpoint, IamMember, qualifier
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.tables.common import COMMON, GRANT, PROJECT, TIDY_GRANT
from infra.local.provider.tables.rules import last_part, same_duration, same_last_part

_BASE = "v1"
_TOPIC_PATH = Path("projects/{project}/topics/{name}")
_JOB_PATH = Path("projects/{project}/locations/{region}/jobs/{name}")


def _is_base64(value: str) -> str | None:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        return "not in base64, as the service takes it"
    return None


_TOPIC = {
    "name": text(replaces=True, local=True, same=same_last_part),
    **COMMON,
    "labels": table(),
    "kmsKeyName": text(),
    "messageRetentionDuration": text(same=same_duration),
    "messageStoragePolicy": block(
        {"allowedPersistenceRegions": texts(required=True, unordered=True), "enforceInTransit": flag()}, server=True
    ),
    "schemaSettings": block(
        {"schema": text(required=True), "encoding": text(choices=("ENCODING_UNSPECIFIED", "JSON", "BINARY"))},
        server=True,
    ),
}

TOPIC = ResourceType(
    "gcp:pubsub/topic:Topic",
    noun="Topic",
    identity=_TOPIC_PATH,
    fields=_TOPIC,
    labelled=True,
    naming=Naming(longest=255),
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
    "attemptDeadline": text(default="180s", same=same_duration),
    "paused": flag(server=True),
    "retryConfig": block(
        {
            "retryCount": whole(server=True),
            "maxRetryDuration": text(server=True, same=same_duration),
            "minBackoffDuration": text(server=True, same=same_duration),
            "maxBackoffDuration": text(server=True, same=same_duration),
            "maxDoublings": whole(server=True),
        }
    ),
    "pubsubTarget": block(
        {"topicName": text(required=True), "data": text(rule=_is_base64), "attributes": table()},
        excludes=("httpTarget",),
    ),
    "httpTarget": block(
        {
            "uri": text(required=True),
            "httpMethod": text(choices=("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")),
            "oauthToken": block({"serviceAccountEmail": text(required=True), "scope": text(server=True)}),
        },
        excludes=("pubsubTarget",),
    ),
    "state": text(computed=True),
}

JOB = ResourceType(
    "gcp:cloudscheduler/job:Job",
    noun="Job",
    identity=_JOB_PATH,
    fields=_JOB,
    naming=Naming(longest=500),
    calls=Job(
        base=_BASE,
        collection=Path("projects/{project}/locations/{region}/jobs"),
        item=_JOB_PATH,
        fields=_JOB,
        whole=True,
    ),
)

TYPES = (TOPIC, TOPIC_IAM_MEMBER, JOB)
