"""Which pods the namespace of a team admits: those that cannot reach their node. Pure.

The rules are Pod Security's baseline (https://kubernetes.io/docs/concepts/security/pod-security-standards, read
2026-11), with one difference: a container may add the capability SYS_RESOURCE alone, by which libtpu locks memory.
The API server evaluates them itself, in CEL (ValidatingAdmissionPolicy v1), whoever makes the pod. Owns the rules;
`queue_objects` spells their objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

POLICY: Final = "tidepool-team-pods"
"""Name of the policy; that of its binding to a team's namespace is this and the team's."""
_SYSCTLS: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
_SELINUX: Final = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_VARIABLES: Final = {
    # The kinds of containers are of different types, which `dyn` lets into one list.
    "containers": (
        "dyn(object.spec.containers) + dyn(object.spec.?initContainers.orValue([]))"
        " + dyn(object.spec.?ephemeralContainers.orValue([]))"
    ),
    "contexts": (
        "[dyn(object.spec.?securityContext.orValue({}))]"
        " + variables.containers.map(each, dyn(each.?securityContext.orValue({})))"
    ),
    "probes": (
        "variables.containers.map(each, [each.?livenessProbe, each.?readinessProbe, each.?startupProbe,"
        " each.?lifecycle.?postStart, each.?lifecycle.?preStop])"
    ),
}
_RULES: Final = (
    (
        (
            "!object.spec.?hostNetwork.orValue(false) && !object.spec.?hostPID.orValue(false)"
            " && !object.spec.?hostIPC.orValue(false)"
        ),
        "pod: it shares a namespace of its node",
        "remove hostNetwork, hostPID and hostIPC",
    ),
    (
        "object.spec.?volumes.orValue([]).all(each, !has(each.hostPath))",
        "volume: it is a folder of the node",
        "another volume than hostPath",
    ),
    (
        "variables.containers.all(each, !each.?securityContext.?privileged.orValue(false))",
        "container: it is privileged",
        "remove privileged; chips need no more than the capability SYS_RESOURCE",
    ),
    (
        (
            "variables.containers.all(each, each.?securityContext.?capabilities.?add.orValue([])"
            ".all(added, added == 'SYS_RESOURCE'))"
        ),
        "container: it adds a capability",
        "add none but SYS_RESOURCE",
    ),
    (
        "variables.containers.all(each, each.?ports.orValue([]).all(port, port.?hostPort.orValue(0) == 0))",
        "container: it takes a port of the node",
        "remove hostPort",
    ),
    (
        "variables.containers.all(each, each.?securityContext.?procMount.orValue('Default') == 'Default')",
        "container: its /proc is not masked",
        "remove procMount",
    ),
    (
        (
            f"variables.contexts.all(each, each.?seLinuxOptions.?type.orValue('') in {list(_SELINUX)!r}"
            " && each.?seLinuxOptions.?user.orValue('') == '' && each.?seLinuxOptions.?role.orValue('') == '')"
        ),
        "pod: its SELinux options are not a container's",
        "remove seLinuxOptions",
    ),
    (
        (
            "variables.contexts.all(each, each.?seccompProfile.?type.orValue('') != 'Unconfined'"
            " && each.?appArmorProfile.?type.orValue('') != 'Unconfined')"
            " && object.metadata.?annotations.orValue({}).all(key,"
            f" !key.startsWith('{_APPARMOR}') || object.metadata.annotations[key] != 'unconfined')"
        ),
        "pod: seccomp or AppArmor is off",
        "remove the profile Unconfined",
    ),
    (
        f"object.spec.?securityContext.?sysctls.orValue([]).all(each, each.name in {list(_SYSCTLS)!r})",
        "pod: it sets a parameter of its node's kernel",
        "remove the sysctl",
    ),
    (
        (
            "variables.probes.all(kinds, kinds.all(each, each.?httpGet.?host.orValue('') == ''"
            " && each.?tcpSocket.?host.orValue('') == ''))"
        ),
        "container: its probe lets the node call another host",
        "remove the host of the probe",
    ),
)
"""What must hold, the problem where it does not, and its fix. Kubernetes itself has a process of a Windows node
(hostProcess) on the node's network, which the first refuses."""


def policy() -> Mapping[str, Any]:
    """The spec of the policy. A pod that stands is not looked at again, but where a container is added to it."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"]}
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {**rule, "operations": ["CREATE"], "resources": ["pods"]},
                {**rule, "operations": ["UPDATE"], "resources": ["pods/ephemeralcontainers"]},
            ]
        },
        "variables": [{"name": name, "expression": expression} for name, expression in _VARIABLES.items()],
        "validations": [
            {"expression": holds, "message": f"{problem}. Fix: {fix}", "reason": "Forbidden"}
            for holds, problem, fix in _RULES
        ],
    }


def binding(team: str) -> Mapping[str, Any]:
    """The spec of what binds the policy to a team's namespace, by the label that its name alone gives it."""
    return {
        "policyName": POLICY,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": team}}},
    }
