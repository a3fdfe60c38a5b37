"""One engine for every test that builds a program: it records what is registered and refuses what Pulumi's would.

It keeps whole RegisterResource requests, because protect, retain and the like stand there and nowhere else, and it
computes the outputs that a provider would, because a mock that only echoes its inputs binds members to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pulumi
from pulumi.runtime import mocks as pulumi_mocks
from pulumi.runtime import rpc, settings
from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs
from pulumi.runtime.stack import run_in_stack
from pulumi.runtime.sync_await import _ensure_event_loop, _sync_await

import bench.engine.program  # noqa: F401 - with it, no registration looks for its line of source

PROJECT = "tidepool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """One resource as the program asked for it; `inputs` are in the provider's own spelling."""

    urn: str
    type: str
    name: str
    custom: bool
    inputs: Mapping[str, Any]
    parent: str
    dependencies: frozenset[str]
    protect: bool
    retain_on_delete: bool
    delete_before_replace: bool
    ignore_changes: tuple[str, ...]
    replace_on_changes: tuple[str, ...]
    replace_with: tuple[str, ...]
    create_timeout: str


@dataclass(kw_only=True)
class Built:
    """What one run of a program came to."""

    resources: dict[str, Registered] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    component_outputs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, kind: str) -> list[Registered]:
        """Every resource of a type, told by the last part of its token (`V2Vm`) or all but `gcp:`, by name."""
        found = (r for r in self.resources.values() if kind in (r.type.split(":")[-1], r.type.removeprefix("gcp:")))
        return sorted(found, key=lambda r: r.name)

    def one(self, kind: str) -> Registered:
        (only,) = self.of(kind)
        return only

    @property
    def custom(self) -> list[Registered]:
        return [r for r in self.resources.values() if r.custom]


def build(
    program: Callable[[], None],
    *,
    stack: str,
    config: Mapping[str, str] | None = None,
    references: Mapping[str, Mapping[str, Any]] | None = None,
    preview: bool = False,
) -> Built:
    """Run a program to its end and return what it registered.

    config: Pulumi's own configuration, namespaced keys to text. references: outputs of other stacks by full name.
    """
    # Mocks make the stack at once, which needs a loop; whatever ran before in this process may have taken its own away.
    # A program that fails raises below; the tasks that it leaves behind would each print the same error once more.
    _ensure_event_loop().set_exception_handler(lambda *_: None)
    built = Built()
    mocks = _Cloud(references or {})
    pulumi.runtime.set_mocks(mocks, project=PROJECT, stack=stack, preview=preview, monitor=_Monitor(mocks, built))
    # What an earlier run left, its stack or a failed registration, would be taken for this one's.
    settings.SETTINGS.rpc_manager.clear()
    settings.SETTINGS.outputs.clear()
    settings.set_root_resource(cast("Any", None))
    pulumi.runtime.set_all_config(dict(config or {}))
    _sync_await(run_in_stack(program))
    return built


def config_values(document: Mapping[str, Any]) -> dict[str, str]:
    """A stack file's `config` as Pulumi hands it to a program: structured values as JSON text."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in document["config"].items()}


class _Monitor(pulumi_mocks.MockMonitor):
    def __init__(self, mocks: pulumi_mocks.Mocks, built: Built) -> None:
        super().__init__(mocks)
        self._built = built

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the protocol's own name
        response = super().RegisterResource(request)
        if request.type == "pulumi:pulumi:Stack":
            return response
        if response.urn in self._built.resources:
            raise AssertionError(f"Duplicate resource URN '{response.urn}'; try giving it a unique name")
        self._built.resources[response.urn] = Registered(
            urn=response.urn,
            type=request.type,
            name=request.name,
            custom=request.custom,
            inputs=rpc.deserialize_properties(request.object),
            parent=request.parent,
            dependencies=frozenset(request.dependencies),
            protect=request.protect,
            retain_on_delete=request.retainOnDelete,
            delete_before_replace=request.deleteBeforeReplace,
            ignore_changes=tuple(request.ignoreChanges),
            replace_on_changes=tuple(request.replaceOnChanges),
            replace_with=tuple(request.replace_with),
            create_timeout=request.customTimeouts.create,
        )
        return response

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 - the protocol's own name
        outputs = rpc.deserialize_properties(request.outputs)
        self._built.component_outputs[request.urn] = outputs
        if request.urn.split("::")[2] == "pulumi:pulumi:Stack":
            self._built.outputs.update(outputs)
        return super().RegisterResourceOutputs(request)


_ACCOUNT = "{accountId}@{project}.iam.gserviceaccount.com"
_POOL = "locations/global/workloadIdentityPools/{workloadIdentityPoolId}"
_PROVIDER = f"{_POOL}/providers/{{workloadIdentityPoolProviderId}}"
_LOCATION = "projects/{project}/locations/{location}"
_STAGE = {"stage": "COMPLETE", "message": "", "actionUri": ""}
_COMPUTED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "gcp:serviceaccount/account:Account": (
        f"projects/{{project}}/serviceAccounts/{_ACCOUNT}",
        {
            "email": _ACCOUNT, "member": f"serviceAccount:{_ACCOUNT}",
            "name": f"projects/{{project}}/serviceAccounts/{_ACCOUNT}",
        },
    ),
    "gcp:compute/network:Network": ("projects/{project}/global/networks/{name}", {}),
    "gcp:compute/subnetwork:Subnetwork": ("projects/{project}/regions/{region}/Subnetwork/{name}", {}),
    "gcp:artifactregistry/repository:Repository": (
        f"{_LOCATION}/repositories/{{repositoryId}}", {"name": "{repositoryId}"},
    ),
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": (
        f"projects/{{project}}/{_POOL}", {"name": f"projects/1/{_POOL}"},
    ),
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": (
        f"projects/{{project}}/{_PROVIDER}", {"name": f"projects/1/{_PROVIDER}"},
    ),
    "gcp:cloudbuildv2/connection:Connection": (
        f"{_LOCATION}/connections/{{name}}", {"installationStates": [_STAGE]},
    ),
    "gcp:cloudbuildv2/repository:Repository": ("{parentConnection}/repositories/{name}", {}),
    "gcp:cloudrunv2/job:Job": (f"{_LOCATION}/jobs/{{resource}}", {}),
    "gcp:monitoring/notificationChannel:NotificationChannel": (
        "projects/{project}/NotificationChannel/{resource}-number",
        {"name": "projects/{project}/NotificationChannel/{resource}-number"},
    ),
    "gcp:pubsub/topic:Topic": ("projects/{project}/topics/{name}", {}),
    # The service answers with the project's number, which is why nothing may build on this name.
    "gcp:secretmanager/secret:Secret": (
        "projects/{project}/secrets/{secretId}", {"name": "projects/1/secrets/{secretId}"},
    ),
    "gcp:storage/bucket:Bucket": ("{name}", {"url": "gs://{name}", "projectNumber": 123456789012}),
    "gcp:container/cluster:Cluster": (
        f"{_LOCATION}/clusters/{{name}}", {"endpoint": "192.0.2.7", "masterAuth": {"clusterCaCertificate": "Y2VydA=="}},
    ),
}  # fmt: skip
"""By type the id, and outputs beside the inputs; `resource` is the name in the program."""


class _Cloud(pulumi_mocks.Mocks):
    """What Google would answer, type by type, as far as programs read it."""

    def __init__(self, references: Mapping[str, Mapping[str, Any]]) -> None:
        self._references = references

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        raise AssertionError(f"programs here look nothing up; this one called {args.token}")

    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        given = dict(args.inputs)
        if args.typ == "pulumi:pulumi:StackReference":
            name = given["name"]
            if name not in self._references:
                raise AssertionError(f"no stack {name!r}")
            return name, {**given, "outputs": dict(self._references[name]), "secretOutputNames": []}
        place, outputs = _COMPUTED.get(args.typ, ("{resource}-id", {}))
        told = {"resource": args.name, **given}
        found = {key: each.format(**told) if isinstance(each, str) else each for key, each in outputs.items()}
        return place.format(**told), {**given, **found}
