"""The policy pack as the pulumi CLI runs it: a process of its own, asked over the analyzer protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
import pulumi_gcp as gcp
import pytest
import yaml
from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

from infra.model.stack_text import pulumi_values
from infra.model.unclaimed import MisfitKind
from infra.rules.book import EDIT_RULES, RESOURCE_RULES, judge
from infra.rules.finding import Level
from infra.rules.view import ResourceView
from tests.model.given import pool, stack_text
from tests.program.fake_engine import build
from tests.program.stacks import text_of, unedited
from tests.rules.right_edits import BUCKET, LABELS, MEMBER, POOLS, edit, resource, vm
from tests.rules.test_edit_rules import BUDGET, RESOURCES, exception
from tests.synthetic_lab import the_lab

if TYPE_CHECKING:
    pass

empty_pb2: Any = _empty_pb2
struct_pb2: Any = _struct_pb2

PACK = the_lab() / "infra" / "rules" / "pack"
STACK = "pulumi:pulumi:Stack"
SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "value": "hunter2hunter2"}
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


@dataclass(frozen=True, slots=True)
class Cli:
    """The CLI's side of the protocol."""

    stub: Any

    def analyze(self, view: ResourceView) -> list[Any]:
        """What is said of a resource that is about to be made."""
        properties = struct_pb2.Struct()
        properties.update(json.loads(json.dumps(dict(view.inputs))))
        request = analyzer_pb2.AnalyzeRequest(
            type=view.type,
            name=view.name,
            urn=view.urn,
            properties=properties,
            options=analyzer_pb2.AnalyzerResourceOptions(protect=view.protect),
        )
        return list(self.stub.Analyze(request).diagnostics)

    def stack(self) -> list[Any]:
        """What is said of the stack as a whole, the first of all resources."""
        return self.analyze(resource(STACK, {}, name="tidepool-ci"))

    def stack_alone(self) -> list[Any]:
        """The same without what the checkout's workflows ask: they ask it of all stacks."""
        return [each for each in self.stack() if each.policyName not in set(MisfitKind)]

    def end(self) -> list[Any]:
        """What is said at the end."""
        return list(self.stub.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest()).diagnostics)


@contextmanager
def pack(settings: Mapping[str, str], *, stack: str = "ci") -> Generator[Cli]:
    """The pack's process, started as the CLI starts it, with the stack in its environment."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "PYTHON", "GOOGLE_"))},
        "PULUMI_PROJECT": "tidepool",
        "PULUMI_STACK": stack,
        "PULUMI_DRY_RUN": "true",
        "PULUMI_CONFIG": json.dumps(dict(settings)),
    }
    command = [sys.executable, "-u", "-m", "pulumi.policy", "127.0.0.1:1", str(PACK)]
    with subprocess.Popen(command, env=environment, cwd=PACK, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
                yield Cli(analyzer_pb2_grpc.AnalyzerStub(channel))
        finally:
            process.kill()


def settings_of(text: str) -> dict[str, str]:
    return pulumi_values(text)


def names_of(diagnostics: list[Any]) -> list[str]:
    return [diagnostic.policyName for diagnostic in diagnostics]


@pytest.fixture(scope="module")
def cli() -> Generator[Cli]:
    """The pack over a stack with a member pool, a fork pool, a budget that is too small, and three exceptions."""
    accepted = exception() + exception("protected", "gone (storage.Bucket)") + exception("freeze", "x", "2026-01-01")
    with pack(settings_of(stack_text(pools=POOLS, budget=BUDGET, exceptions=accepted))) as started:
        yield started


def test_the_stack_comes_first_and_is_judged_as_a_whole(cli: Cli) -> None:
    found = cli.stack_alone()
    assert names_of(found) == ["exception-expired", "within-budget"]
    assert all(each.enforcementLevel == analyzer_pb2.MANDATORY for each in found)
    assert "over the $100.00 allowed" in found[1].message
    assert "write: " in found[1].message


def test_a_resource_that_breaks_a_rule_is_refused(cli: Cli) -> None:
    (found,) = cli.analyze(resource(BUCKET, {"name": "my-lab-ci", "labels": LABELS}))
    assert (found.policyName, found.policyPackName) == ("protected", "tidepool")
    assert found.enforcementLevel == analyzer_pb2.MANDATORY


def test_protection_arrives_with_the_resource(cli: Cli) -> None:
    assert cli.analyze(resource(BUCKET, {"name": "my-lab-ci", "labels": LABELS}, protect=True)) == []


def test_a_secret_among_metadata_is_told_and_not_shown(cli: Cli) -> None:
    (found,) = cli.analyze(vm(metadata={"key": SECRET}))
    assert found.policyName == "no-secret-in-metadata"
    assert "hunter2" not in str(found)


def test_what_only_an_apply_can_know_is_not_judged(cli: Cli) -> None:
    assert cli.analyze(vm(account=UNKNOWN)) == []


def test_an_excepted_resource_passes_and_an_exception_that_met_nothing_is_told_at_the_end(cli: Cli) -> None:
    assert cli.analyze(RESOURCES["no account"]) == []
    (unused,) = cli.end()
    assert (unused.policyName, unused.enforcementLevel) == ("exception-unused", analyzer_pb2.ADVISORY)
    assert "gone (storage.Bucket)" in unused.message


def test_the_pack_names_every_rule_with_its_level(cli: Cli) -> None:
    info = cli.stub.GetAnalyzerInfo(empty_pb2.Empty())
    levels = {policy.name: policy.enforcementLevel for policy in info.policies}
    for rule in (*EDIT_RULES, *RESOURCE_RULES):
        expected = analyzer_pb2.MANDATORY if rule.level is Level.STOP else analyzer_pb2.ADVISORY
        assert levels[rule.id] == expected
    described = yaml.safe_load((PACK / "PulumiPolicy.yaml").read_text(encoding="utf-8"))
    assert (info.name, info.version) == (described["name"], described["version"])
    assert cli.stub.GetPluginInfo(empty_pb2.Empty()).version == described["version"]


def test_the_whole_ci_stack_passes() -> None:
    with pack(settings_of(text_of("ci"))) as cli:
        told = {each.policyName for each in cli.stack()} - {MisfitKind.USER}
        assert told == set(), "a new pool has no user yet"
        assert [found for each in unedited("ci").resources.values() for found in cli.analyze(_view(each))] == []
        assert cli.end() == []


def test_a_stack_file_with_mistakes_is_left_to_the_program_to_refuse() -> None:
    with pack(settings_of(stack_text(pools=pool(trust="everyone")))) as cli:
        assert cli.stack() == cli.end() == []


def test_what_a_pulumi_program_says_in_its_own_words_is_found() -> None:
    def program() -> None:
        container = gcp.cloudrunv2.JobTemplateTemplateContainerArgs(image="us-docker.pkg.dev/my-lab/marin/job:latest")
        template = gcp.cloudrunv2.JobTemplateTemplateArgs(containers=[container])
        gcp.cloudrunv2.Job(
            "job", project="my-lab", location="us-west4", template=gcp.cloudrunv2.JobTemplateArgs(template=template)
        )
        gcp.tpu.V2Vm(
            "vm", project="my-lab", name="vm", zone="us-west4-a", runtime_version="r", labels=LABELS,
            service_account=gcp.tpu.V2VmServiceAccountArgs(email=MEMBER),
            network_config=gcp.tpu.V2VmNetworkConfigArgs(enable_external_ips=True),
            metadata={"registration-token": "AABBCCDDEEFFGG"},
        )  # fmt: skip
        gcp.storage.Bucket("fleet", name="my-lab-fleet", location="us", labels=LABELS)
        step = gcp.cloudbuild.TriggerBuildStepArgs(name="docker.io/library/docker:29-cli", args=["version"])
        gcp.cloudbuild.Trigger(
            "trigger", project="my-lab", location="us-central1", disabled=True,
            build=gcp.cloudbuild.TriggerBuildArgs(steps=[step]),
            service_account=f"projects/my-lab/serviceAccounts/{MEMBER}",
        )  # fmt: skip

    made = build(program, stack="ci", config={"gcp:project": "my-lab"}).resources.values()
    found = {(each.subject.partition(" ")[0], each.rule) for each in judge(edit(), map(_view, made))}
    assert found == {
        ("job", "image-by-digest"), ("job", "labels-say-owner"), ("job", "no-default-account"),
        ("vm", "external-ip-declared"), ("vm", "no-secret-in-metadata"), ("fleet", "protected"),
        ("trigger", "trigger-on"),
    }  # fmt: skip


def _view(registered: Any) -> ResourceView:
    return ResourceView(
        type=registered.type,
        name=registered.name,
        urn=registered.urn,
        inputs=registered.inputs,
        protect=registered.protect,
    )
