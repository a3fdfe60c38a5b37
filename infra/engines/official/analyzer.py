"""The policy pack's process: the rules of `infra.rules`, asked by the pulumi CLI over its analyzer protocol.

Owns the protocol's messages and what the CLI hands over in them. Does not own a single rule. The service is the SDK's
own; the package pulumi-policy is not used, because it opens secrets before a rule sees them (so that none could tell a
secret among metadata), reads every resource once for each rule, and holds protobuf below version 6.

The first step of a program is its stack: that is when the edit is judged, before any resource is made.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import grpc
import pulumi
from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import json_format
from pulumi.runtime import config as pulumi_config
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2

from infra.engines.official import values
from infra.engines.protocol import NOW
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.bounds import Bound, fleet, limits
from infra.model.clock import machine_clock  # noqa: TID251 - a plain `pulumi up` tells no other time
from infra.model.demand import load_demands
from infra.model.errors import ConfigError
from infra.model.phases import Phases, phases
from infra.model.schema import StackConfig
from infra.model.stack import siblings, stack_from_pulumi
from infra.rules import exceptions
from infra.rules.book import EDIT_RULES, RESOURCE_RULES, of_edit, of_exceptions, of_resource, of_unused
from infra.rules.finding import Finding, Level
from infra.rules.rule import Edit, ResourceContext
from infra.rules.standing import standing
from infra.rules.view import ResourceView

empty_pb2: Any = _empty_pb2
"""Its class comes into being at import, where no type checker sees it."""

PACK: Final = "tidepool"
VERSION: Final = "1.0.0"
_STACK_TYPE: Final = "pulumi:pulumi:Stack"
_PAGE: Final = "docs/rules.md"
_LARGEST_MESSAGE: Final = 400 * 1024 * 1024
"""Bytes; what the CLI itself allows. A whole stack comes in one message."""
_ENFORCEMENT: Final = {Level.STOP: analyzer_pb2.MANDATORY, Level.WARN: analyzer_pb2.ADVISORY}
_SEVERITY: Final = {Level.STOP: analyzer_pb2.POLICY_SEVERITY_HIGH, Level.WARN: analyzer_pb2.POLICY_SEVERITY_LOW}


def serve(root: Path) -> None:
    """Answer the CLI until it ends this process; the port is the first line on stdout. root: the checkout."""
    options = [("grpc.max_receive_message_length", _LARGEST_MESSAGE)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), options=options)
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(Analyzer(root, PackRun.here()), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    try:
        server.wait_for_termination()
    except KeyboardInterrupt:
        server.stop(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRun:
    """Which stack of which project the CLI runs, with its settings by namespaced key."""

    project: str
    stack: str
    settings: Mapping[str, str]

    @classmethod
    def here(cls) -> PackRun:
        """As the SDK has it; only in the thread that it was started in."""
        settings = {**pulumi_config.get_config_env(), **pulumi_config.CONFIG.get()}
        return cls(project=pulumi.get_project(), stack=pulumi.get_stack(), settings=settings)


class Case:
    """One stack, as far as it can be judged: what it declares, and what the rules have found of it until now."""

    def __init__(self, edit: Edit) -> None:
        self._edit = edit
        self._around = ResourceContext.of(edit.after)
        self._found: list[Finding] = []

    def of_edit(self) -> list[Finding]:
        """What is to be said of the stack as a whole."""
        return sorted({*self._accepted(of_edit(self._edit)), *of_exceptions(self._edit)})

    def of_resource(self, view: ResourceView) -> list[Finding]:
        return self._accepted(of_resource(view, self._around))

    def of_unused(self) -> list[Finding]:
        """What is to be said once every resource was seen."""
        return sorted(of_unused(self._edit, self._found, resources_known=True))

    def _accepted(self, findings: Iterable[Finding]) -> list[Finding]:
        found = sorted(set(findings))
        self._found += found
        return list(exceptions.accepted(found, self._edit.after, self._edit.today))


class Analyzer(analyzer_pb2_grpc.AnalyzerServicer):
    """One run of the CLI over one stack. A stack file with mistakes is not judged: the program itself refuses it."""

    def __init__(self, root: Path, asked: PackRun) -> None:
        self._root = root
        self._asked = asked

    @cached_property
    def _case(self) -> Case | None:
        try:
            return Case(_edit(self._root, self._asked))
        except ConfigError:
            return None

    def Analyze(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's own name and shape
        case = self._case
        if case is None:
            return analyzer_pb2.AnalyzeResponse()
        view = ResourceView(
            type=request.type,
            name=request.name,
            urn=request.urn,
            inputs=values.inputs(json_format.MessageToDict(request.properties)) or {},
            protect=request.options.protect,
        )
        found = case.of_edit() if request.type == _STACK_TYPE else case.of_resource(view)
        return _answer(found, request.urn)

    def AnalyzeStack(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's own name and shape
        return _answer(self._case.of_unused() if self._case else (), "")

    def Remediate(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's own name and shape
        return analyzer_pb2.RemediateResponse()

    def GetAnalyzerInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's own name and shape
        rules = [(rule.id, rule.level, rule.reason, rule.fix) for rule in (*EDIT_RULES, *RESOURCE_RULES)]
        rules += [(rule, level, reason, "") for rule, (level, reason) in exceptions.WORDS.items()]
        return analyzer_pb2.AnalyzerInfo(
            name=PACK,
            displayName="Tidepool",
            version=VERSION,
            policies=[
                analyzer_pb2.PolicyInfo(
                    name=rule,
                    displayName=rule,
                    description=reason,
                    enforcementLevel=_ENFORCEMENT[level],
                    policy_type=analyzer_pb2.POLICY_TYPE_RESOURCE,
                    severity=_SEVERITY[level],
                    remediation_steps=fix,
                    url=_PAGE,
                )
                for rule, level, reason, fix in rules
            ],
        )

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's own name and shape
        return plugin_pb2.PluginInfo(version=VERSION)

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's own name and shape
        """Levels are the rules' own, and exceptions stand in the stack file, where they are reviewed."""
        return empty_pb2.Empty()

    def ConfigureStack(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's own name and shape
        """The stack's settings have come with the environment, as they do for a program."""
        return analyzer_pb2.AnalyzerStackConfigureResponse()

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's own name and shape
        return analyzer_pb2.AnalyzerHandshakeResponse()

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's own name and shape
        return empty_pb2.Empty()


def _answer(findings: Iterable[Finding], urn: str) -> Any:
    return analyzer_pb2.AnalyzeResponse(
        diagnostics=[
            analyzer_pb2.AnalyzeDiagnostic(
                policyName=finding.rule,
                policyPackName=PACK,
                policyPackVersion=VERSION,
                message=f"{finding.subject}: {finding.reason}\nwrite: {finding.fix}",
                urn=urn,
                enforcementLevel=_ENFORCEMENT[finding.level],
                severity=_SEVERITY[finding.level],
            )
            for finding in findings
        ]
    )


def _edit(root: Path, asked: PackRun) -> Edit:
    """The edit that this run of the CLI is about, as far as the CLI and the fleet bucket tell."""
    others = siblings(root, asked.stack)
    config = stack_from_pulumi(asked.settings, project=asked.project, stack=asked.stack, siblings=others)
    bounds = limits(config, others)
    order = _order(config, bounds, asked.settings.get("gcp:storageCustomEndpoint")) if bounds else None
    return Edit(after=config, today=_now(os.environ), siblings=others, order=order, demands=load_demands(root))


def _now(environ: Mapping[str, str]) -> datetime:
    """The time of the invocation that started the CLI, as it tells; a plain `pulumi up` tells none."""
    told = environ.get(NOW)
    return datetime.fromisoformat(told) if told else machine_clock()


def _order(config: StackConfig, bounds: Sequence[Bound], endpoint: str | None) -> Phases | None:
    """The phases from the published fleet to the declared one; None where nothing is published or can be read."""
    root = endpoint.removesuffix("storage/v1/") if endpoint else None
    try:
        with clients(config.project, root) as google:
            record = Records(google=google, bucket=config.bucket.name).read(bucket_names.manifest_object(config.stack))
    except GoogleError:
        return None
    before = standing(record.body, config) if record else None
    return None if before is None else phases(before, fleet(config), bounds)
