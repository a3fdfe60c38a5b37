"""Secret Manager: containers of secrets and who may read them. Never a value.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery document v1 (2026-10).
"""

from __future__ import annotations

from infra.local.provider.checker import Naming
from infra.local.provider.fields import block, blocks, exactly_one, flag, table, text
from infra.local.provider.policy import Endpoint, IamMember, qualifier
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.rest import Rest
from infra.local.provider.tables.common import COMMON, GRANT, LATE, PROJECT, TIDY_GRANT
from infra.local.provider.tables.rules import last_part, same_last_part

_BASE = "v1"
_ITEM = Path("projects/{project}/secrets/{secretId}")
_KEY = {"kmsKeyName": text(required=True)}

_SECRET = {
    "secretId": text(replaces=True, local=True),
    **COMMON,
    "replication": block(
        {
            "auto": block(
                {"customerManagedEncryption": block(_KEY)},
                wire="automatic",
                replaces=True,
                keeps_empty=True,
            ),
            "userManaged": block(
                {
                    "replicas": blocks(
                        {
                            "location": text(required=True, replaces=True),
                            "customerManagedEncryption": block(_KEY),
                        },
                        required=True,
                        replaces=True,
                    )
                },
                replaces=True,
            ),
        },
        required=True,
        replaces=True,
        relations=(exactly_one("auto", "userManaged"),),
    ),
    "labels": table(),
    "annotations": table(),
    "versionAliases": table(),
    "topics": blocks({"name": text(required=True)}),
    "rotation": block({"rotationPeriod": text(), "nextRotationTime": text(needs="rotationPeriod")}, needs="topics"),
    "ttl": text(unread=True),
    "expireTime": text(server=True),
    "versionDestroyTtl": text(),
    "deletionProtection": flag(local=True),
    "name": text(computed=True),
    "createTime": text(computed=True),
    "effectiveAnnotations": table(wire="annotations", computed=True),
}

SECRET = ResourceType(
    "gcp:secretmanager/secret:Secret",
    noun="Secret",
    identity=_ITEM,
    fields=_SECRET,
    labelled=True,
    naming=Naming(property="secretId", longest=255),
    imports=1,
    replaced_in_turn=True,
    calls=Rest(
        base=_BASE,
        collection=Path("projects/{project}/secrets"),
        item=_ITEM,
        fields=_SECRET,
        query={"secretId": Path("{secretId}")},
    ),
)

SECRET_IAM_MEMBER = ResourceType(
    "gcp:secretmanager/secretIamMember:SecretIamMember",
    noun="SecretIamMember",
    identity=Path(f"{_ITEM.template}/{{role}}/{{member}}"),
    fields={
        "secretId": text(required=True, replaces=True, local=True, same=same_last_part),
        "project": PROJECT,
        **GRANT,
    },
    derived={"secretId": _ITEM},
    tidied={"secretId": last_part, **TIDY_GRANT},
    late=LATE,
    qualified=qualifier,
    calls=IamMember(
        owner=Path(f"{_BASE}/{_ITEM.template}"),
        get=Endpoint(method="GET", suffix=":getIamPolicy", query={"options.requestedPolicyVersion": "3"}),
        put=Endpoint(method="POST", suffix=":setIamPolicy"),
    ),
)

TYPES = (SECRET, SECRET_IAM_MEMBER)
