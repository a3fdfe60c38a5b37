"""Cloud Run: services and jobs of its second API, and who may invoke each.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery document run v2 (2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.local.provider.checker import Naming
from infra.local.provider.fields import Field, block, blocks, flag, table, text, texts, whole
from infra.local.provider.operations import Wait
from infra.local.provider.policy import Endpoint, IamMember, qualifier
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.rest import Rest
from infra.local.provider.tables.common import COMMON, GRANT, LATE, PROJECT, TIDY_GRANT
from infra.local.provider.tables.rules import last_part, same_last_part, shaped

_BASE = "v2"
_SERVICES = "projects/{project}/locations/{location}/services"
_JOBS = "projects/{project}/locations/{location}/jobs"
_STAGES = ("UNIMPLEMENTED", "PRELAUNCH", "EARLY_ACCESS", "ALPHA", "BETA", "GA", "DEPRECATED")
_INGRESS = (
    "INGRESS_TRAFFIC_ALL",
    "INGRESS_TRAFFIC_INTERNAL_ONLY",
    "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER",
)


def _differs_in_unnamed_cpu(old: Any, new: Any, *_: Any) -> bool:
    """The service gives every container a CPU."""
    if not isinstance(new, Mapping) or "cpu" in new:
        return False
    return {key: value for key, value in (old or {}).items() if key != "cpu"} == dict(new)


_CONTAINER = {
    "name": text(),
    "image": text(required=True),
    "commands": texts(wire="command"),
    "args": texts(),
    "envs": blocks(
        {
            "name": text(required=True),
            "value": text(),
            "valueSource": block(
                {"secretKeyRef": block({"secret": text(required=True), "version": text(required=True)})}
            ),
        },
        wire="env",
        unordered=True,
    ),
    "workingDir": text(),
}
_PLACED = {
    "serviceAccount": text(server=True),
    "timeout": text(server=True, rule=shaped(r"[0-9]+(\.[0-9]{1,9})?s", "seconds with an s, such as 600s or 3.5s")),
}
_ENVIRONMENT = ("EXECUTION_ENVIRONMENT_GEN1", "EXECUTION_ENVIRONMENT_GEN2")
_CONDITION = {
    "executionReason": text(computed=True),
    "lastTransitionTime": text(computed=True),
    "message": text(computed=True),
    "reason": text(computed=True),
    "revisionReason": text(computed=True),
    "severity": text(computed=True),
    "state": text(computed=True),
    "type": text(computed=True),
}
_OF_BOTH = {
    "name": text(replaces=True, local=True, same=same_last_part),
    "location": text(required=True, replaces=True, local=True),
    **COMMON,
    "deletionProtection": flag(default=True, local=True),
    "labels": table(),
    "annotations": table(),
    "launchStage": text(choices=_STAGES, server=True),
    "uid": text(computed=True),
    "generation": text(computed=True),
    "observedGeneration": text(computed=True),
    "createTime": text(computed=True),
    "updateTime": text(computed=True),
    "deleteTime": text(computed=True),
    "expireTime": text(computed=True),
    "creator": text(computed=True),
    "lastModifier": text(computed=True),
    "etag": text(computed=True),
    "reconciling": flag(computed=True),
    "conditions": blocks(_CONDITION, computed=True),
    "terminalConditions": blocks(_CONDITION, wire="terminalCondition", computed=True),
    "effectiveAnnotations": table(wire="annotations", computed=True),
}

_SERVICE = {
    **_OF_BOTH,
    "description": text(),
    "ingress": text(choices=_INGRESS, server=True),
    "invokerIamDisabled": flag(),
    "customAudiences": texts(),
    "template": block(
        {
            **_PLACED,
            "executionEnvironment": text(choices=_ENVIRONMENT),
            "containers": blocks(
                {
                    **_CONTAINER,
                    "resources": block(
                        {
                            "limits": table(server=True, hidden=_differs_in_unnamed_cpu),
                            "cpuIdle": flag(),
                            "startupCpuBoost": flag(),
                        },
                        server=True,
                    ),
                }
            ),
            "maxInstanceRequestConcurrency": whole(server=True),
            "scaling": block({"minInstanceCount": whole(), "maxInstanceCount": whole(server=True)}, server=True),
        },
        required=True,
    ),
    "uri": text(computed=True),
    "urls": texts(computed=True),
    "latestCreatedRevision": text(computed=True),
    "latestReadyRevision": text(computed=True),
    "trafficStatuses": blocks(
        {
            "percent": whole(computed=True),
            "revision": text(computed=True),
            "tag": text(computed=True),
            "type": text(computed=True),
            "uri": text(computed=True),
        },
        computed=True,
    ),
}

_JOB = {
    **_OF_BOTH,
    "template": block(
        {
            "taskCount": whole(server=True),
            "parallelism": whole(server=True),
            "template": block(
                {
                    **_PLACED,
                    "executionEnvironment": text(choices=_ENVIRONMENT, server=True),
                    "containers": blocks(
                        {**_CONTAINER, "resources": block({"limits": table(server=True)}, server=True)}
                    ),
                    "maxRetries": whole(default=3, always=True),
                },
                required=True,
            ),
        },
        required=True,
    ),
    "executionCount": whole(computed=True),
    "latestCreatedExecutions": blocks(
        {"name": text(computed=True), "createTime": text(computed=True), "completionTime": text(computed=True)},
        wire="latestCreatedExecution",
        computed=True,
    ),
}


def _resource(token: str, noun: str, collection: str, query: str, fields: Mapping[str, Field]) -> ResourceType:
    item = Path(f"{collection}/{{name}}")
    return ResourceType(
        token,
        noun=noun,
        identity=item,
        fields=fields,
        labelled=True,
        naming=Naming(longest=50, lower=collection == _SERVICES),
        imports=2,
        keeps_failed=True,
        calls=Rest(
            base=_BASE,
            collection=Path(collection),
            item=item,
            fields=fields,
            query={query: Path("{name}")},
            create_wait=Wait.LRO,
            update_wait=Wait.LRO,
            delete_wait=Wait.LRO,
            whole=True,
        ),
    )


def _member(token: str, noun: str, collection: str) -> ResourceType:
    owner = Path(f"{collection}/{{name}}")
    return ResourceType(
        token,
        noun=noun,
        identity=Path(f"{owner.template}/{{role}}/{{member}}"),
        fields={
            "name": text(required=True, replaces=True, local=True, same=same_last_part),
            "location": text(replaces=True, server=True, local=True),
            "project": PROJECT,
            **GRANT,
        },
        derived={"name": owner},
        tidied={"name": last_part, **TIDY_GRANT},
        late=LATE,
        qualified=qualifier,
        calls=IamMember(
            owner=Path(f"{_BASE}/{owner.template}"),
            get=Endpoint(method="GET", suffix=":getIamPolicy", query={"options.requestedPolicyVersion": "3"}),
            put=Endpoint(method="POST", suffix=":setIamPolicy"),
        ),
    )


SERVICE = _resource("gcp:cloudrunv2/service:Service", "Service", _SERVICES, "serviceId", _SERVICE)
SERVICE_IAM_MEMBER = _member("gcp:cloudrunv2/serviceIamMember:ServiceIamMember", "ServiceIamMember", _SERVICES)
JOB = _resource("gcp:cloudrunv2/job:Job", "Job", _JOBS, "jobId", _JOB)
JOB_IAM_MEMBER = _member("gcp:cloudrunv2/jobIamMember:JobIamMember", "JobIamMember", _JOBS)

TYPES = (SERVICE, SERVICE_IAM_MEMBER, JOB, JOB_IAM_MEMBER)
