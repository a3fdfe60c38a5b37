"""Condenses Kubernetes' own OpenAPI document into `builtin.json` of the local cloud: run by hand after a new version.

    python infra/tools/kubernetes/condense.py SWAGGER-JSON > bench/cloud/kubernetes/builtin.json

SWAGGER-JSON is `api/openapi-spec/swagger.json` of the Go module k8s.io/kubernetes, whose version go.mod here pins. Kept
are the kinds of `SERVED` and every type that they are made of: names of fields, types, and how lists and maps merge
(`x-kubernetes-list-type` and its siblings). A type is written as `string`, `[string]`, `{string}` or a type's name;
behind a list stand its merge keys (`[Container] name`) or `set`; one with nothing behind it is replaced as a whole, as
is a map or an object that ends with `!`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SERVED: Mapping[str, str] = {
    "v1": "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate "
    "ResourceQuota Secret Service ServiceAccount",
    "admissionregistration.k8s.io/v1": "MutatingWebhookConfiguration ValidatingAdmissionPolicy "
    "ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1": "APIService",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "networking.k8s.io/v1": "Ingress IngressClass NetworkPolicy",
    "node.k8s.io/v1": "RuntimeClass",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
    "storage.k8s.io/v1": "StorageClass",
}
_SHORT = {
    "ConfigMap": "cm", "CustomResourceDefinition": "crd", "CronJob": "cj", "DaemonSet": "ds", "Deployment": "deploy",
    "Endpoints": "ep", "HorizontalPodAutoscaler": "hpa", "Ingress": "ing", "Namespace": "ns", "NetworkPolicy": "netpol",
    "Node": "no", "PersistentVolume": "pv", "PersistentVolumeClaim": "pvc", "Pod": "po", "PodDisruptionBudget": "pdb",
    "PriorityClass": "pc", "ReplicaSet": "rs", "ResourceQuota": "quota", "Service": "svc", "ServiceAccount": "sa",
    "StatefulSet": "sts", "StorageClass": "sc",
}  # fmt: skip
_PLAIN = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "scalar",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "scalar",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps": "any!",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "any",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
}


COMMA = ",\n"


class Condensed:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._definitions = document["definitions"]
        self._paths = document["paths"]
        self.types: dict[str, dict[str, str]] = {}

    def kinds(self) -> list[dict[str, Any]]:
        """A row for each served kind, by the paths that the document has for it."""
        return [self._kind(version, kind) for version, kinds in SERVED.items() for kind in kinds.split()]

    def _kind(self, version: str, kind: str) -> dict[str, Any]:
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        group, _, bare = version.rpartition("/")
        asked = {"group": group, "version": bare, "kind": kind}
        single = next(
            path
            for path, verbs in self._paths.items()
            if path.startswith(f"{base}/") and path.endswith("/{name}") and "put" in verbs
            and verbs["put"].get("x-kubernetes-group-version-kind") == asked
        )  # fmt: skip
        body = next(each for each in self._paths[single]["put"]["parameters"] if each["name"] == "body")
        name = body["schema"]["$ref"].rpartition("/")[2]
        return {
            "apiVersion": version,
            "kind": kind,
            "plural": single.split("/")[-2],
            "namespaced": "{namespace}" in single,
            "status": f"{single}/status" in self._paths,
            "short": _SHORT.get(kind, ""),
            "type": self.named(name),
        }

    def named(self, name: str) -> str:
        """The short name of a type, which is kept with all that it is made of."""
        if name in _PLAIN:
            return _PLAIN[name]
        definition = self._definitions[name]
        if "properties" not in definition:
            return definition.get("type", "any").replace("object", "any")
        short = ".".join(name.split(".")[-3:])
        if short not in self.types:
            self.types[short] = {}
            self.types[short] |= {key: self._field(value) for key, value in sorted(definition["properties"].items())}
        return f"{short}!" if definition.get("x-kubernetes-map-type") == "atomic" else short

    def _field(self, field: Mapping[str, Any]) -> str:
        whole = "!" if field.get("x-kubernetes-map-type") == "atomic" else ""
        if "$ref" in field:
            named = self.named(field["$ref"].rpartition("/")[2])
            return f"{named.removesuffix('!')}!" if whole else named
        match field.get("type"):
            case "array":
                return f"[{self._field(field['items'])}]{_merging(field)}"
            case "object" if "additionalProperties" in field:
                return f"{{{self._field(field['additionalProperties'])}}}{whole}"
            case "object" | None:
                return f"any{whole}"
            case "number":
                return "number"
            case plain:
                return "scalar" if field.get("format") == "int-or-string" else plain


def _merging(field: Mapping[str, Any]) -> str:
    keys = " ".join(field.get("x-kubernetes-list-map-keys", ()))
    return {"map": f" {keys}", "set": " set"}.get(field.get("x-kubernetes-list-type", "atomic"), "")


def main(path: Path) -> str:
    condensed = Condensed(json.loads(path.read_bytes()))
    kinds = [json.dumps(row) for row in condensed.kinds()]
    types = [f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in sorted(condensed.types.items())]
    return f'{{"kinds": [\n{COMMA.join(kinds)}\n], "types": {{\n{COMMA.join(types)}\n}}}}\n'


if __name__ == "__main__":
    sys.stdout.write(main(Path(sys.argv[1])))
