"""The numbers of enum values are those of Google's proto files, as its generated clients carry them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from bench.cloud import discovery, services
from bench.cloud.cloud import HANDLERS

assert services.__all__
MODULES = {
    "artifactregistry": "google.cloud.artifactregistry_v1",
    "cloudbuild.v1": "google.cloud.devtools.cloudbuild_v1",
    "cloudbuild.v2": "google.cloud.devtools.cloudbuild_v2",
    "cloudkms": "google.cloud.kms_v1",
    "cloudscheduler": "google.cloud.scheduler_v1",
    "pubsub": "google.pubsub_v1",
    "run": "google.cloud.run_v2",
    "secretmanager": "google.cloud.secretmanager_v1",
    "tpu": "google.cloud.tpu_v2",
}
# Of these the service says the value, or there is but one.
UNSAID = ("state", "health", "algorithm")


def messages(module: str) -> dict[str, Any]:
    """Descriptors by the name that a discovery document gives them: `Node`, `GoogleCloudRunV2Job`."""
    found: dict[str, Any] = {}

    def add(descriptor: Any) -> None:
        own = descriptor.full_name[len(descriptor.file.package) + 1 :].replace(".", "")
        whole = "".join(part[:1].upper() + part[1:] for part in descriptor.full_name.split("."))
        found.update({own: descriptor, whole: descriptor})
        for inner in descriptor.nested_types:
            add(inner)

    for value in vars(import_module(f"{module}.types")).values():
        if hasattr(value, "pb"):
            add(value.pb().DESCRIPTOR)
        elif hasattr(getattr(value, "DESCRIPTOR", None), "fields"):
            add(value.DESCRIPTOR)
    return found


def served(api: str) -> Iterator[tuple[str, str, dict[str, int]]]:
    """Schema, field and numbers of every enum that a served method reaches."""
    service, _, version = api.partition(".")
    for prefix, names in discovery.DOCUMENTS.items():
        if any(name.startswith(f"{service}.{version or 'v'}") for name in names):
            of_service = [
                each.api for each in discovery.methods(prefix, frozenset(HANDLERS)) if each.api.service == service
            ]
            for schema, body in of_service[0].schemas.items():
                for field, declared in body.get("properties", {}).items():
                    value = declared.get("items", declared)
                    if "numbers" in value and not declared.get("readOnly") and field not in UNSAID:
                        yield schema, field, value["numbers"]


def test_every_number_is_that_of_the_proto_file() -> None:
    compared, wrong = 0, []
    for api, module in MODULES.items():
        known = messages(module)
        for schema, field, numbers in served(api):
            described = known[schema].fields if schema in known else ()
            enum = next((each.enum_type for each in described if each.json_name == field), None)
            right = {value.name: value.number for value in enum.values} if enum else {}
            compared += bool(right)
            wrong += [(schema, field, name) for name, number in numbers.items() if right.get(name, number) != number]
    assert wrong == []
    assert compared > 40, "a renamed message does not empty the test"
