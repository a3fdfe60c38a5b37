"""Pulumi's protocol: the ResourceMonitor and Engine services as an object in the program's own process.

Owns the translation between messages and the engine's terms, and which features are advertised: only what works.
The SDK calls these methods from its threads as it would call a gRPC stub, and takes grpc.RpcError for an answer.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import grpc
from google.protobuf import empty_pb2 as _empty_pb2
from pulumi.runtime.proto import engine_pb2, resource_pb2

from bench.engine import goal as goals
from bench.engine.run import StoppedError
from bench.engine.values import RefusedError, from_struct, to_struct
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Op, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from bench.engine.deployment import Deployment
    from bench.engine.existing import Existing
    from bench.engine.goal import ProgramAnswer
    from bench.engine.run import EngineRun

Empty: Any = _empty_pb2.__dict__["Empty"]
"""Comes into being at import, where no type checker sees it."""

FEATURES = (
    resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ALIAS_SPECS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_REPLACE_WITH,
)
"""What the engine does. Transforms, hooks, resource references, output values and packages are not in it, so that the
SDK refuses them by name or does without."""

_SEVERITIES: dict[int, Literal["info", "warning", "error"]] = {
    engine_pb2.INFO: "info",
    engine_pb2.WARNING: "warning",
    engine_pb2.ERROR: "error",
}


class MonitorError(grpc.RpcError):
    """What the SDK takes for a failed call. UNAVAILABLE makes it end the program quietly."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self._code = code
        self._details = details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details


class Monitor:
    """One program's monitor and engine. `told`: failures that are recorded already when the SDK raises them again."""

    def __init__(self, run: EngineRun, deployment: Deployment, existing: Existing, stack: str, project: str) -> None:
        self._run = run
        self._deployment = deployment
        self._existing = existing
        self._place = (stack, project)
        self.told: set[str] = set()

    # ResourceMonitor

    def GetDeploymentInfo(self, _request: Empty, /) -> resource_pb2.DeploymentInfo:  # noqa: N802
        return resource_pb2.DeploymentInfo(supportedFeatures=FEATURES)

    def RegisterResource(  # noqa: N802
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        answer = self._answer(request, lambda: self._deployment.register(goals.registered(request, *self._place)))
        return resource_pb2.RegisterResourceResponse(
            urn=answer.urn,
            id=answer.id,
            object=to_struct(answer.outputs),
            result=resource_pb2.FAIL if answer.failed else resource_pb2.SUCCESS,
            unknown=answer.unknown,
        )

    def ReadResource(self, request: resource_pb2.ReadResourceRequest) -> resource_pb2.ReadResourceResponse:  # noqa: N802
        answer = self._answer(request, lambda: self._existing.read(goals.read(request, *self._place)))
        if answer.failed:
            raise self._told(grpc.StatusCode.NOT_FOUND, f"{answer.urn} could not be read")
        return resource_pb2.ReadResourceResponse(urn=answer.urn, properties=to_struct(answer.outputs))

    def RegisterResourceOutputs(  # noqa: N802
        self, request: resource_pb2.RegisterResourceOutputsRequest
    ) -> Empty:
        try:
            with self._stoppable():
                self._deployment.outputs(request.urn, from_struct(request.outputs))
        except EngineError as error:
            raise MonitorError(grpc.StatusCode.UNKNOWN, str(error)) from None
        return Empty()

    def SignalAndWaitForShutdown(self, _request: Empty, /) -> Empty:  # noqa: N802
        return Empty()

    def __getattr__(self, name: str) -> Any:
        """Any other call of the protocol is refused by its name."""
        if not name[:1].isupper():
            raise AttributeError(name)

        def refuse(_request: object) -> None:
            message = f"the embedded engine does not support {name}: use --engine pulumi"
            raise MonitorError(grpc.StatusCode.UNIMPLEMENTED, message)

        return refuse

    # Engine

    def Log(self, request: engine_pb2.LogRequest) -> Empty:  # noqa: N802
        severity = _SEVERITIES.get(request.severity)
        if severity and not request.ephemeral:
            self._run.say(severity, request.message, request.urn, repeats=True)
        return Empty()

    # Failures

    def _answer(self, request: Any, work: Callable[[], ProgramAnswer]) -> ProgramAnswer:
        """The answer of some work on a resource. What is refused is recorded, and the program may go on."""
        try:
            with self._stoppable():
                answer = work()
        except RefusedError as error:
            urn = urns.make(*self._place, request.parent, request.type, request.name)
            self._run.broke(Step(op=Op.CREATE, urn=urn, type=request.type, name=request.name), str(error))
            raise self._told(grpc.StatusCode.UNIMPLEMENTED, str(error)) from None
        if answer.failed and self._run.stopping.is_set():
            raise _stopped()
        return answer

    def _told(self, code: grpc.StatusCode, details: str) -> MonitorError:
        self.told.add(details)
        return MonitorError(code, details)

    @contextmanager
    def _stoppable(self) -> Generator[None]:
        """For work on what the program asks: where the run is being stopped, the program is ended quietly."""
        if self._run.stopping.is_set():
            raise _stopped()
        try:
            yield
        except StoppedError:
            raise _stopped() from None


def _stopped() -> MonitorError:
    return MonitorError(grpc.StatusCode.UNAVAILABLE, "the run is being stopped")
