"""What a change of each input means, type by type: written down apart from the provider's own table.

Source: the published schema of the official Google provider for Pulumi (pulumi-gcp 10.2), compared with the ForceNew
marks of the Terraform provider it is made from (google-beta 7.45), 2026-11. Names are Pulumi's; `[]` is an element of a
list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GRANT: Final = ("member", "role", "condition.title", "condition.expression", "condition.description")

REPLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "gcp:tpu/v2Vm:V2Vm": (
        "name",
        "zone",
        "project",
        "acceleratorType",
        "acceleratorConfig.type",
        "acceleratorConfig.topology",
        "runtimeVersion",
        "cidrBlock",
        "networkConfig.network",
        "networkConfig.subnetwork",
        "networkConfig.enableExternalIps",
        "networkConfig.canIpForward",
        "networkConfig.queueCount",
        "networkConfigs[].network",
        "schedulingConfig.preemptible",
        "schedulingConfig.reserved",
        "schedulingConfig.spot",
        "serviceAccount.email",
        "serviceAccount.scopes",
        "shieldedInstanceConfig.enableSecureBoot",
    ),
    "gcp:artifactregistry/repository:Repository": (
        "repositoryId",
        "location",
        "project",
        "format",
        "mode",
        "kmsKeyName",
        "remoteRepositoryConfig.description",
        "remoteRepositoryConfig.dockerRepository.publicRepository",
        "remoteRepositoryConfig.dockerRepository.customRepository.uri",
    ),
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember": ("repository", "location", "project", *GRANT),
    "gcp:serviceaccount/account:Account": ("accountId", "project"),
    "gcp:serviceaccount/iAMMember:IAMMember": ("serviceAccountId", *GRANT),
    "gcp:projects/iAMMember:IAMMember": ("project", *GRANT),
    "gcp:projects/service:Service": ("service", "project"),
    "gcp:secretmanager/secret:Secret": ("secretId", "project", "replication.userManaged.replicas[].location"),
    "gcp:secretmanager/secretIamMember:SecretIamMember": ("secretId", "project", *GRANT),
    "gcp:storage/bucket:Bucket": ("name", "location", "project", "hierarchicalNamespace.enabled"),
    "gcp:storage/bucketIAMMember:BucketIAMMember": ("bucket", *GRANT),
    "gcp:compute/network:Network": ("name", "project", "description", "autoCreateSubnetworks"),
    "gcp:compute/subnetwork:Subnetwork": ("name", "project", "region", "network", "description"),
    "gcp:compute/router:Router": ("name", "project", "region", "network", "encryptedInterconnectRouter"),
    "gcp:compute/routerNat:RouterNat": ("name", "project", "region", "router", "type"),
    "gcp:kms/keyRing:KeyRing": ("name", "location", "project"),
    "gcp:kms/cryptoKey:CryptoKey": (
        "name",
        "keyRing",
        "purpose",
        "versionTemplate.protectionLevel",
        "destroyScheduledDuration",
        "cryptoKeyBackend",
        "importOnly",
    ),
}

IN_PLACE: Final[Mapping[str, tuple[str, ...]]] = {
    "gcp:tpu/v2Vm:V2Vm": (
        "description",
        "labels",
        "metadata",
        "tags",
        "dataDisks[].sourceDisk",
        "dataDisks[].mode",
        "deletionPolicy",
    ),
    "gcp:artifactregistry/repository:Repository": (
        "description",
        "labels",
        "cleanupPolicyDryRun",
        "cleanupPolicies[].action",
        "cleanupPolicies[].condition.olderThan",
        "cleanupPolicies[].condition.tagState",
        "cleanupPolicies[].mostRecentVersions.keepCount",
        "dockerConfig.immutableTags",
        "remoteRepositoryConfig.disableUpstreamValidation",
        "virtualRepositoryConfig.upstreamPolicies[].priority",
        "vulnerabilityScanningConfig.enablementConfig",
    ),
    "gcp:serviceaccount/account:Account": ("displayName", "description", "disabled", "createIgnoreAlreadyExists"),
    "gcp:projects/service:Service": (
        "disableOnDestroy",
        "disableDependentServices",
        "checkIfServiceHasUsageOnDestroy",
    ),
    "gcp:secretmanager/secret:Secret": (
        "labels",
        "annotations",
        "versionAliases",
        "topics[].name",
        "rotation.rotationPeriod",
        "ttl",
        "expireTime",
        "deletionProtection",
    ),
    "gcp:storage/bucket:Bucket": (
        "labels",
        "storageClass",
        "publicAccessPrevention",
        "uniformBucketLevelAccess",
        "forceDestroy",
        "versioning.enabled",
        "lifecycleRules[].condition.numNewerVersions",
        "lifecycleRules[].action.storageClass",
        "softDeletePolicy.retentionDurationSeconds",
        "retentionPolicy.retentionPeriod",
    ),
    "gcp:compute/network:Network": ("mtu", "routingMode", "networkFirewallPolicyEnforcementOrder"),
    "gcp:compute/subnetwork:Subnetwork": (
        "privateIpGoogleAccess",
        "stackType",
        "role",
        "secondaryIpRanges[].rangeName",
        "logConfig.flowSampling",
    ),
    "gcp:compute/router:Router": ("description", "bgp.asn", "bgp.advertiseMode"),
    "gcp:compute/routerNat:RouterNat": (
        "natIpAllocateOption",
        "sourceSubnetworkIpRangesToNat",
        "natIps",
        "minPortsPerVm",
        "maxPortsPerVm",
        "udpIdleTimeoutSec",
        "logConfig.filter",
        "subnetworks[].name",
    ),
    "gcp:kms/cryptoKey:CryptoKey": ("labels", "rotationPeriod", "skipInitialVersionCreation"),
}

FILLED_BY_THE_SERVICE: Final[Mapping[str, tuple[str, ...]]] = {
    "gcp:tpu/v2Vm:V2Vm": (
        "zone",
        "project",
        "acceleratorConfig",
        "cidrBlock",
        "networkConfig",
        "networkConfig.network",
        "networkConfig.subnetwork",
        "serviceAccount",
        "serviceAccount.email",
        "serviceAccount.scopes",
        "deletionPolicy",
    ),
    "gcp:artifactregistry/repository:Repository": ("location", "vulnerabilityScanningConfig"),
    "gcp:secretmanager/secret:Secret": ("expireTime",),
    "gcp:storage/bucket:Bucket": ("uniformBucketLevelAccess", "publicAccessPrevention", "softDeletePolicy"),
    "gcp:compute/network:Network": ("mtu", "routingMode"),
    "gcp:compute/subnetwork:Subnetwork": ("region", "privateIpGoogleAccess", "purpose", "stackType"),
    "gcp:compute/routerNat:RouterNat": ("natIps", "minPortsPerVm", "enableEndpointIndependentMapping"),
    "gcp:kms/cryptoKey:CryptoKey": ("destroyScheduledDuration", "importOnly", "cryptoKeyBackend"),
}
