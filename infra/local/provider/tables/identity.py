"""Identities and projects: service accounts, grants on them and on projects, enabled APIs.

Facts: the published schema of the official provider (pulumi-gcp 10.2) and the discovery documents iam v1,
cloudresourcemanager v1 and serviceusage v1 (2026-09 to 2026-11).
"""

from __future__ import annotations

from infra.local.provider.account import Account
from infra.local.provider.checker import Naming
from infra.local.provider.enablement import Enablement
from infra.local.provider.fields import flag, text
from infra.local.provider.policy import Endpoint, IamMember, qualifier
from infra.local.provider.resource import Path, ResourceType
from infra.local.provider.tables.common import COMMON, GRANT, LATE, TIDY_GRANT
from infra.local.provider.tables.rules import shaped

_VERSION_3 = {"options": {"requestedPolicyVersion": 3}}
_EMAIL = "{accountId}@{project}.iam.gserviceaccount.com"
_ACCOUNT_PATH = f"projects/{{project}}/serviceAccounts/{_EMAIL}"


def _is_service(value: str) -> str | None:
    if value == "bigquery-json.googleapis.com":
        return f"{value!r} was renamed; name bigquery.googleapis.com"
    return None if "." in value else f"{value!r} is not an API's name, which contains a dot"


ACCOUNT = ResourceType(
    "gcp:serviceaccount/account:Account",
    noun="service account",
    identity=Path(_ACCOUNT_PATH),
    fields={
        "accountId": text(
            replaces=True,
            local=True,
            rule=shaped(
                r"[a-z][-a-z0-9]{4,28}[a-z0-9]",
                "6 to 30 lower-case letters, digits and dashes, a letter first, no dash last",
            ),
        ),
        **COMMON,
        "displayName": text(),
        "description": text(rule=shaped(r"(?s).{0,256}", "at most 256 characters")),
        "disabled": flag(),
        "createIgnoreAlreadyExists": flag(local=True),
        "uniqueId": text(computed=True),
        "email": text(computed=True),
        "member": text(computed=True),
        "name": text(computed=True),
    },
    naming=Naming(property="accountId", longest=30),
    derived={"email": Path(_EMAIL), "member": Path(f"serviceAccount:{_EMAIL}")},
    foreseen=frozenset({"email", "member"}),
    calls=Account(collection=Path("v1/projects/{project}/serviceAccounts"), item=Path(f"v1/{_ACCOUNT_PATH}")),
)

ACCOUNT_IAM_MEMBER = ResourceType(
    "gcp:serviceaccount/iAMMember:IAMMember",
    noun="service account IAM member",
    identity=Path("{serviceAccountId}/{role}/{member}"),
    fields={
        "serviceAccountId": text(
            required=True,
            replaces=True,
            local=True,
            rule=shaped(r"projects/[^/]+/serviceAccounts/[^/]+@[^/]+", "projects/PROJECT/serviceAccounts/EMAIL"),
        ),
        **GRANT,
    },
    tidied=TIDY_GRANT,
    late=LATE,
    qualified=qualifier,
    calls=IamMember(
        owner=Path("v1/{serviceAccountId}"),
        get=Endpoint(method="POST", suffix=":getIamPolicy", query={"options.requestedPolicyVersion": "3"}),
        put=Endpoint(method="POST", suffix=":setIamPolicy"),
    ),
)

PROJECT_IAM_MEMBER = ResourceType(
    "gcp:projects/iAMMember:IAMMember",
    noun="project IAM member",
    identity=Path("{project}/{role}/{member}"),
    fields={"project": text(required=True, replaces=True, local=True), **GRANT},
    tidied=TIDY_GRANT,
    replaced_in_turn=True,
    late=LATE,
    qualified=qualifier,
    calls=IamMember(
        owner=Path("v1/projects/{project}"),
        get=Endpoint(method="POST", suffix=":getIamPolicy", body=_VERSION_3),
        put=Endpoint(method="POST", suffix=":setIamPolicy", body={"updateMask": "bindings,etag,auditConfigs"}),
    ),
)

SERVICE = ResourceType(
    "gcp:projects/service:Service",
    noun="project service",
    identity=Path("{project}/{service}"),
    fields={
        "service": text(required=True, replaces=True, local=True, rule=_is_service),
        **COMMON,
        "disableOnDestroy": flag(local=True),
        "disableDependentServices": flag(local=True),
        "checkIfServiceHasUsageOnDestroy": flag(local=True),
    },
    calls=Enablement(Path("projects/{project}/services/{service}")),
)

TYPES = (ACCOUNT, ACCOUNT_IAM_MEMBER, PROJECT_IAM_MEMBER, SERVICE)
