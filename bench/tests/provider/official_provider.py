"""Official providers for Pulumi, asked over their plugin protocol: the judges of what the embedded ones say.

Runs `pulumi-resource-gcp` from PATH against a local cloud alone: every endpoint is the cloud's, and its token is one
that Google refuses. `pulumi-resource-kubernetes` is told the kubeconfig of a cluster on this machine.
Source of the protocol: proto/pulumi/provider.proto of pulumi/pulumi, 2026-11.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import grpc
from google.protobuf import json_format
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from bench.engine.provider import UNKNOWN
from bench.engine.values import struct_pb2
from infra.engines.official.workspace import GOOGLE_CREDENTIAL_VARIABLES, endpoint_settings
from infra.model.secret_values import SECRET_SIGNATURE, SIGNATURE, UNKNOWN_TEXT

messages: Any = provider_pb2
"""Its classes come into being at import, where no type checker sees them."""

_LONGEST_MESSAGE = 400 * 1024 * 1024
_SECONDS = 60


@dataclass(frozen=True)
class Difference:
    """changes: whether anything differs. detailed: what, by path. replaces: whether that makes a new resource."""

    changes: bool
    detailed: dict[str, str]

    @property
    def replaces(self) -> bool:
        return any(kind.endswith("REPLACE") for kind in self.detailed.values())


class OfficialProvider:
    """One plugin process. `urn` of every resource is the same; a plugin keeps nothing between calls.

    package: whose settings these are.
    """

    def __init__(self, plugin: str, package: str, settings: Mapping[str, str]) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in GOOGLE_CREDENTIAL_VARIABLES}
        self._process = subprocess.Popen([plugin, "127.0.0.1:1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         env=environment, text=True)  # fmt: skip
        out = self._process.stdout
        port = out.readline().strip() if out is not None else ""
        self._channel = grpc.insecure_channel(
            f"127.0.0.1:{port}", options=[("grpc.max_receive_message_length", _LONGEST_MESSAGE)]
        )
        self._stub: Any = provider_pb2_grpc.ResourceProviderStub(self._channel)
        self._stub.Configure(
            messages.ConfigureRequest(
                variables={f"{package}:config:{key}": value for key, value in settings.items()},
                args=_struct(dict(settings)),
                acceptSecrets=True,
            )
        )

    @classmethod
    def of_google(cls, plugin: str, url: str, project: str) -> Self:
        """url: of a local cloud."""
        settings = {key.removeprefix("gcp:"): value for key, value in endpoint_settings(url).items()}
        texts = {key: each if isinstance(each, str) else json.dumps(each) for key, each in settings.items()}
        return cls(plugin, "gcp", texts | {"project": project})

    @classmethod
    def of_kubernetes(cls, plugin: str, kubeconfig: str) -> Self:
        """Told what the program tells it. kubeconfig: its text, of a cluster on this machine."""
        said = {"kubeconfig": kubeconfig, "enableServerSideApply": "true", "enableConfigMapMutable": "true"}
        return cls(plugin, "kubernetes", said)

    def close(self) -> None:
        self._channel.close()
        self._process.terminate()
        self._process.communicate()

    def schema(self) -> dict[str, Any]:
        """What the provider publishes of its types; tens of megabytes."""
        return json.loads(self._stub.GetSchema(messages.GetSchemaRequest()).schema)

    def check(self, token: str, inputs: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Checked inputs, and what is wrong with them."""
        answer = self._stub.Check(
            messages.CheckRequest(urn=_urn(token), olds=_struct({}), news=_struct(inputs), randomSeed=bytes(32))
        )
        return _values(answer.inputs), [failure.reason for failure in answer.failures]

    def create(self, token: str, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        answer = self._stub.Create(
            messages.CreateRequest(urn=_urn(token), properties=_struct(inputs), timeout=_SECONDS)
        )
        return answer.id, _values(answer.properties)

    def read(
        self, token: str, resource_id: str, inputs: dict[str, Any], outputs: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Inputs and outputs after a refresh; the inputs are empty where the resource is gone."""
        answer = self._stub.Read(
            messages.ReadRequest(id=resource_id, urn=_urn(token), inputs=_struct(inputs), properties=_struct(outputs))
        )
        return _values(answer.inputs), _values(answer.properties)

    def diff(
        self, token: str, resource_id: str, inputs: dict[str, Any], outputs: dict[str, Any], wanted: dict[str, Any]
    ) -> Difference:
        answer = self._stub.Diff(
            messages.DiffRequest(
                id=resource_id,
                urn=_urn(token),
                olds=_struct(outputs),
                news=_struct(wanted),
                old_inputs=_struct(inputs),
            )
        )
        kinds = messages.PropertyDiff.Kind
        detailed = {path: kinds.Name(each.kind) for path, each in answer.detailedDiff.items()}
        return Difference(answer.changes == messages.DiffResponse.DIFF_SOME, detailed)

    def update(
        self, token: str, resource_id: str, inputs: dict[str, Any], outputs: dict[str, Any], wanted: dict[str, Any]
    ) -> dict[str, Any]:
        """Outputs after a change in place. inputs, outputs: as they were."""
        asked = messages.UpdateRequest(
            id=resource_id,
            urn=_urn(token),
            olds=_struct(outputs),
            news=_struct(wanted),
            old_inputs=_struct(inputs),
            timeout=_SECONDS,
        )
        return _values(self._stub.Update(asked).properties)

    def delete(self, token: str, resource_id: str, outputs: dict[str, Any]) -> None:
        self._stub.Delete(
            messages.DeleteRequest(id=resource_id, urn=_urn(token), properties=_struct(outputs), timeout=_SECONDS)
        )


def _urn(token: str) -> str:
    return f"urn:pulumi:judged::tidepool::{token}::it"


def _struct(values: dict[str, Any]) -> Any:
    made = struct_pb2.Struct()
    made.update(_sent(values))
    return made


def _sent(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sent(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_sent(each) for each in value]
    return UNKNOWN_TEXT if value is UNKNOWN else value


def _values(struct: Any) -> dict[str, Any]:
    return _told(json_format.MessageToDict(struct))


def _told(value: Any) -> Any:
    """Plain values: secrets in clear, whole numbers as such."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET_SIGNATURE:
            return _told(value["value"])
        return {key: _told(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_told(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return UNKNOWN if value == UNKNOWN_TEXT else value
