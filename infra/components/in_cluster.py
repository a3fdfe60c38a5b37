"""What stands inside a GKE cluster: operators as Helm releases, then the objects that need their kinds.

Owns the way there (a kubeconfig whose token comes from GKE's own plugin), the order, and what of an object cannot be
changed in place. Which releases and objects there are is `infra.model.addons` and `infra.model.queue_objects`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes

from infra.model.addons import Addon
from infra.model.grants import FEDERATED
from infra.model.group_objects import AFTER
from infra.model.queue_objects import QUEUE_LABEL, TRAINER
from infra.model.team_pods import POLICY

REPLACING: Final = {
    "LocalQueue": ["spec.clusterQueue"],
    "RoleBinding": ["roleRef"],
    "ClusterRoleBinding": ["roleRef"],
    # The operator reads a cluster once.
    "DaskCluster": ["metadata.labels", "spec"],
    "DaskAutoscaler": ["spec.cluster"],
    # Kueue refuses another count of replicas of a StatefulSet, and of both kinds another queue, shape or port.
    "StatefulSet": [
        "metadata.labels",
        "spec.replicas",
        "spec.template.spec.nodeSelector",
        "spec.template.spec.containers[0].ports",
        "spec.template.spec.containers[0].resources",
    ],
    "LeaderWorkerSet": [
        "metadata.labels",
        "spec.leaderWorkerTemplate.size",
        "spec.leaderWorkerTemplate.workerTemplate.spec.nodeSelector",
        "spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].ports",
        "spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].resources",
    ],
}
"""What is refused or not heeded when it changes: such an object is deleted and made anew, for its name stays."""
IGNORED: Final = {"DaskCluster": ["spec.worker.replicas"]}
"""What others than the program may change: a cluster can be scaled by hand, and is not scaled back by an `up`."""
GOING_ALONG: Final = {"DaskAutoscaler": "DaskCluster"}
"""Kinds whose objects go with another's object of their name, which owns them once its operator has seen both."""
_MINUTES: Final = 600
"""Seconds that an operator's release may take: a node may have to be made for it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAccount:
    """A Google account that pods act as. account: its full name. pods: the IAM member. who: the name of the grant."""

    account: str
    pods: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InClusterArgs:
    """endpoint, ca_certificate: of the cluster's API. addons: operators first. objects: each after those that it names.

    after: what must stand before anything runs there, the nodes of its operators above all.
    """

    cluster: str
    endpoint: pulumi.Input[str]
    ca_certificate: pulumi.Input[str]
    addons: tuple[Addon, ...]
    objects: tuple[Mapping[str, Any], ...]
    accounts: tuple[PodAccount, ...]
    after: Sequence[pulumi.Resource]


class InCluster(pulumi.ComponentResource):
    """Releases and objects of one cluster; `names` has the objects as `KIND/NAMESPACE/NAME`."""

    names: list[str]

    def __init__(self, name: str, args: InClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:cluster:InCluster", name, None, opts)
        provider = kubernetes.Provider(
            args.cluster,
            kubeconfig=pulumi.Output.all(args.endpoint, args.ca_certificate).apply(lambda both: kubeconfig(*both)),
            enable_server_side_apply=True,
            # Else a change of data deletes a ConfigMap first, and where that run fails, its readers go without.
            enable_config_map_mutable=True,
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
        )
        releases = [self._release(addon, provider) for addon in args.addons]
        made: dict[str, pulumi.Resource] = {}
        for body in args.objects:
            made[object_name(body)] = self._object(body, provider, releases, made)
        for each in args.accounts:
            self._acts_as(each)
        self.names = list(made)
        self.register_outputs({"names": self.names})

    def _release(self, addon: Addon, provider: kubernetes.Provider) -> pulumi.Resource:
        where = kubernetes.helm.v3.RepositoryOptsArgs(repo=addon.repository) if addon.repository else None
        return kubernetes.helm.v3.Release(
            addon.name,
            name=addon.name,
            namespace=addon.namespace,
            create_namespace=True,
            chart=addon.chart,
            version=addon.version,
            repository_opts=where,
            values=addon.values,
            atomic=True,
            timeout=_MINUTES,
            opts=pulumi.ResourceOptions(parent=self, provider=provider),
        )

    def _object(
        self,
        body: Mapping[str, Any],
        provider: kubernetes.Provider,
        releases: Sequence[pulumi.Resource],
        made: Mapping[str, pulumi.Resource],
    ) -> pulumi.Resource:
        """It waits for those that it names alone: a namespace before what is in it, flavors before queues."""
        kind, told = body["kind"], body["metadata"]
        replacing = REPLACING.get(kind, [])
        owner = "/".join((GOING_ALONG.get(kind, ""), told.get("namespace", ""), told["name"]))
        needed = [made[name] for name in needs(body) if name in made]
        return pulumi.CustomResource(
            token(body),
            object_name(body),
            dict(body),
            pulumi.ResourceOptions(
                parent=self,
                provider=provider,
                depends_on=[*releases, *needed],
                replace_on_changes=replacing,
                delete_before_replace=bool(replacing),
                ignore_changes=IGNORED.get(kind),
                replace_with=[made[owner]] if owner in made else None,
            ),
        )

    def _acts_as(self, each: PodAccount) -> None:
        gcp.serviceaccount.IAMMember(
            each.who,
            service_account_id=each.account,
            role=FEDERATED,
            member=each.pods,
            # Google knows a grant by its account, role and member: the delete of one whose account is spelled in
            # another way would take the new one away.
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
        )


def kubeconfig(endpoint: str, ca_certificate: str) -> str:
    """A kubeconfig without a secret: GKE's plugin gives whoever runs a token of their own."""
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "installHint": "gcloud components install gke-gcloud-auth-plugin",
        "provideClusterInfo": True,
        "interactiveMode": "Never",
    }
    cluster = {"server": f"https://{endpoint}", "certificate-authority-data": ca_certificate}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "gke",
        "clusters": [{"name": "gke", "cluster": cluster}],
        "users": [{"name": "gke", "user": {"exec": plugin}}],
        "contexts": [{"name": "gke", "context": {"cluster": "gke", "user": "gke"}}],
    }
    return json.dumps(config)


def token(body: Mapping[str, Any]) -> str:
    """Pulumi's type of an object; the API group without a name is `core` there."""
    version = body["apiVersion"]
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{body['kind']}"


def object_name(body: Mapping[str, Any]) -> str:
    """`LocalQueue/team/v4-32`: unique among the objects of a cluster."""
    told = body["metadata"]
    return "/".join(filter(None, (body["kind"], told.get("namespace"), told["name"])))


def needs(body: Mapping[str, Any]) -> list[str]:
    """Names of the objects that stand before this one, where they are declared."""
    found = []
    kind, told = body["kind"], body["metadata"]
    namespace = told.get("namespace")
    if namespace:
        found.append(f"Namespace/{namespace}")
    if kind == "ClusterQueue":
        groups = body["spec"]["resourceGroups"]
        found += [f"ResourceFlavor/{flavor['name']}" for group in groups for flavor in group["flavors"]]
    if kind == "LocalQueue":
        found.append(f"ClusterQueue/{body['spec']['clusterQueue']}")
    if kind == "ValidatingAdmissionPolicyBinding":
        found.append(f"ValidatingAdmissionPolicy/{body['spec']['policyName']}")
    if queue := told.get("labels", {}).get(QUEUE_LABEL):
        # Pods come at once: their policies, name and account are there before them.
        found += [f"LocalQueue/{namespace}/{queue}", f"ServiceAccount/{namespace}/{TRAINER}"]
        found += [f"ValidatingAdmissionPolicyBinding/{POLICY}-{namespace}"]
        found += [f"{each}/{namespace}/{told['name']}" for each in ("NetworkPolicy", "Service")]
    if owner := GOING_ALONG.get(kind):
        found.append(f"{owner}/{namespace}/{told['name']}")
    if earlier := told.get("annotations", {}).get(AFTER):
        kind, _, name = earlier.partition("/")
        found.append(f"{kind}/{namespace}/{name}")
    return found
