"""Which IAM roles exist.

Owns the predefined roles of the services that the local cloud serves, so that a misspelt one is refused as Google
refuses it. Of a service that is not listed any well-formed role is taken.
Source: cloud.google.com/iam/docs/roles-permissions, read 2026-11.
"""

from __future__ import annotations

import re

_BASIC = frozenset({"owner", "editor", "viewer", "browser"})
_PREDEFINED = re.compile(r"roles/(?:([a-z][A-Za-z0-9]*)\.)?([a-z][A-Za-z0-9]*)")
_CUSTOM = re.compile(r"(?:projects/[a-z][a-z0-9-]{4,28}[a-z0-9]|organizations/\d+)/roles/[A-Za-z0-9_.]{3,64}")

_OF_SERVICE: dict[str, frozenset[str]] = {
    service: frozenset(names.split())
    for service, names in {
        "artifactregistry": """
            admin attachmentsAdmin attachmentsReader attachmentsWriter containerRegistryMigrationAdmin
            createOnPushRepoAdmin createOnPushWriter exportArtifactsReader packagesAdmin reader repoAdmin
            serviceAgent writer
        """,
        "cloudkms": """
            admin autokeyAdmin autokeyUser cryptoKeyDecrypter cryptoKeyDecrypterViaDelegation cryptoKeyEncrypter
            cryptoKeyEncrypterDecrypter cryptoKeyEncrypterDecrypterViaDelegation cryptoKeyEncrypterViaDelegation
            cryptoOperator ekmConnectionsAdmin expertRawAesCbc expertRawAesCtr expertRawPKCS1 importer
            orgServiceAgent protectedResourcesViewer publicKeyViewer serviceAgent signer signerVerifier verifier
            viewer
        """,
        "compute": """
            admin futureReservationAdmin futureReservationUser futureReservationViewer imageUser instanceAdmin
            loadBalancerAdmin loadBalancerServiceUser networkAdmin networkUser networkViewer
            orgFirewallPolicyAdmin orgFirewallPolicyUser orgSecurityPolicyAdmin orgSecurityPolicyUser
            orgSecurityResourceAdmin osAdminLogin osLogin osLoginExternalUser packetMirroringAdmin
            packetMirroringUser publicIpAdmin securityAdmin serviceAgent soleTenantViewer storageAdmin viewer
            xpnAdmin
        """,
        "iam": """
            denyAdmin denyReviewer oauthClientAdmin oauthClientViewer operationViewer organizationRoleAdmin
            organizationRoleViewer roleAdmin roleViewer securityAdmin securityReviewer serviceAccountAdmin
            serviceAccountApiKeyBindingAdmin serviceAccountCreator serviceAccountDeleter serviceAccountKeyAdmin
            serviceAccountOpenIdTokenCreator serviceAccountTokenCreator serviceAccountUser serviceAccountViewer
            workforcePoolAdmin workforcePoolViewer workloadIdentityPoolAdmin
            workloadIdentityPoolFederatedIdentityCreator workloadIdentityPoolViewer workloadIdentityUser
        """,
        "logging": """
            admin bucketWriter configWriter fieldAccessor linkViewer logWriter privateLogViewer serviceAgent
            sqlAlertWriter viewAccessor viewer
        """,
        "monitoring": """
            admin alertPolicyEditor alertPolicyViewer alertViewer cloudConsoleIncidentEditor
            cloudConsoleIncidentViewer dashboardEditor dashboardViewer editor metricWriter metricsScopesAdmin
            metricsScopesViewer notificationChannelEditor notificationChannelViewer notificationServiceAgent
            servicesEditor servicesViewer snoozeEditor snoozeViewer uptimeCheckConfigEditor
            uptimeCheckConfigViewer viewer
        """,
        "resourcemanager": """
            folderAdmin folderCreator folderEditor folderIamAdmin folderMover folderViewer lienModifier
            organizationAdmin organizationViewer projectCreator projectDeleter projectIamAdmin projectMover
            tagAdmin tagHoldAdmin tagUser tagViewer
        """,
        "secretmanager": "admin secretAccessor secretVersionAdder secretVersionManager viewer",
        "serviceusage": """
            apiKeysAdmin apiKeysViewer serviceUsageAdmin serviceUsageConsumer serviceUsageViewer
        """,
        "storage": """
            admin bucketViewer expressModeServiceInput expressModeServiceOutput expressModeUserAccess
            folderAdmin hmacKeyAdmin insightsCollectorService legacyBucketOwner legacyBucketReader
            legacyBucketWriter legacyObjectOwner legacyObjectReader objectAdmin objectCreator objectUser
            objectViewer serviceAgent
        """,
        "tpu": "admin serviceAgent viewer xpnAgent",
    }.items()
}
# Roles with a third part; Google documents no others for these services.
_ODD = frozenset(
    {"roles/cloudbuild.builds.approver", "roles/cloudbuild.builds.builder", "roles/cloudbuild.builds.editor",
     "roles/cloudbuild.builds.viewer", "roles/compute.instanceAdmin.v1", "roles/stackdriver.resourceMetadata.writer"}
)  # fmt: skip


def exists(role: str) -> bool:
    """Whether a binding may name this role: basic, predefined, or a custom role by its path."""
    if role in _ODD or _CUSTOM.fullmatch(role):
        return True
    hit = _PREDEFINED.fullmatch(role)
    if hit is None:
        return False
    service, name = hit.groups()
    if service is None:
        return name in _BASIC
    known = _OF_SERVICE.get(service)
    return known is None or name in known
