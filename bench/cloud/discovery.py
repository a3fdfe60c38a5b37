"""Google's discovery documents, as google-api-python-client ships them, turned into methods.

Owns which documents are served and where their paths start. A document is read when the first path below its prefix
is asked for. Leaves matching to `router` and checking to
`schema`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from bench.cloud.differences import PARTIAL_DOCUMENTS, enum_numbers

# Path prefix of a group of documents at the one root -> the documents, in the order in which they win where two APIs
# have the same path (`locations.list`, `operations.get`: the answer is the same whoever gives it).
DOCUMENTS: Mapping[str, tuple[str, ...]] = {
    "v2": ("tpu.v2", "cloudbuild.v2", "run.v2", "logging.v2"),
    "v2alpha1": ("tpu.v2alpha1",),
    "v1": (
        "artifactregistry.v1",
        "secretmanager.v1",
        "cloudkms.v1",
        "iam.v1",
        "cloudresourcemanager.v1",
        "serviceusage.v1",
        "cloudbuild.v1",
        "cloudscheduler.v1",
        "pubsub.v1",
        "monitoring.v1",
        "firestore.v1",
        "billingbudgets.v1",
    ),
    "v3": ("cloudresourcemanager.v3", "monitoring.v3"),
    "v1beta1": ("serviceusage.v1beta1", "redis.v1beta1"),
    "compute/v1": ("compute.v1",),
    "compute/beta": ("compute.beta",),
    "storage/v1": ("storage.v1",),
    # Its operations have the paths of others' and another shape, so it has a root of its own.
    "container/v1": ("container.v1",),
    "container/v1beta1": ("container.v1beta1",),
}

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class DiscoveryDocument:
    """One document. parameters: the query names every method takes (`alt`, `fields`). schemas: by name.

    What has an `enum` has the number of each of its values in `numbers`.
    """

    service: str
    version: str
    parameters: Mapping[str, Schema]
    schemas: Mapping[str, Schema]

    def described(self, declared: Schema, value: Mapping[str, Any]) -> Schema:
        """What describes an object: the schema that it refers to, or the one that its `@type` names."""
        if "$ref" in declared:
            return self.schemas[declared["$ref"]]
        kind = str(value.get("@type", "")).rpartition("/")[2]
        # Documents of several packages have a message under its whole name: GoogleCloudRunV2Job.
        whole = "".join(part[:1].upper() + part[1:] for part in kind.split("."))
        return self.schemas.get(kind.rpartition(".")[2]) or self.schemas.get(whole) or declared


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """One method of one version.

    id: `tpu.projects.locations.nodes.create`. template: flat path from the root, `v2/projects/{projectsId}`.
    path: with the parameter that stands for several segments, `v2/{+parent}/nodes`; the template where there is none.
    request, response: schema names, or None.
    """

    api: DiscoveryDocument
    id: str
    verb: str
    template: str
    path: str
    parameters: Mapping[str, Schema]
    request: str | None
    response: str | None
    upload: bool

    @property
    def lists(self) -> str | None:
        """The field of its answer that has what it lists; None for a method that lists nothing."""
        properties = self.api.schemas[self.response].get("properties", {}) if self.response else {}
        found = [name for name, each in properties.items() if "$ref" in each.get("items", {})]
        return found[0] if len(found) == 1 and "nextPageToken" in properties else None


@cache
def methods(prefix: str) -> tuple[Method, ...]:
    """Every method below a prefix of `DOCUMENTS`."""
    return tuple(method for name in DOCUMENTS[prefix] for method in _read(name, prefix.rpartition("/")[0]))


def published() -> frozenset[str]:
    """The names of all services that have a document, served here or not: `tpu`, `bigquery`."""
    documents = files("googleapiclient.discovery_cache.documents").iterdir()
    return frozenset(each.name.partition(".")[0] for each in documents if each.name.endswith(".json"))


def _read(name: str, root: str) -> Iterator[Method]:
    """root: what stands before the paths of a document that has no path of its own."""
    resource = files("googleapiclient.discovery_cache.documents").joinpath(f"{name}.json")
    document = json.loads(resource.read_bytes())
    service, _, version = name.partition(".")
    for schema, body in document["schemas"].items():
        _number(service, schema, body.get("properties", {}))
    api = DiscoveryDocument(service, version, document["parameters"], document["schemas"])
    served, _ = PARTIAL_DOCUMENTS.get(name, (("",), ""))
    for method in _walk(document):
        if method["id"].startswith(served):
            yield _method(api, document["servicePath"] or (root and f"{root}/"), method)


def _walk(level: Schema) -> Iterator[dict[str, Any]]:
    yield from level.get("methods", {}).values()
    for inner in level.get("resources", {}).values():
        yield from _walk(inner)


def _method(api: DiscoveryDocument, base: str, raw: Schema) -> Method:
    path, parameters = base + raw["path"], raw.get("parameters", {})
    _number(api.service, raw["id"], parameters)
    return Method(
        api=api,
        id=raw["id"],
        verb=raw["httpMethod"],
        template=base + raw.get("flatPath", raw["path"]),
        path=path,
        parameters=parameters,
        request=raw.get("request", {}).get("$ref"),
        response=raw.get("response", {}).get("$ref"),
        upload="mediaUpload" in raw,
    )


def _number(service: str, holder: str, fields: Mapping[str, Any]) -> None:
    """Put the numbers beside the names of every enum, alone or in a list."""
    for field, declared in fields.items():
        value = declared.get("items", declared)
        if "enum" in value:
            value["numbers"] = enum_numbers(service, holder, field, value["enum"])
