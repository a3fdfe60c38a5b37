"""The whole driver, against recorded answers of the CLI."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from infra.engines.official import OfficialEngine
from infra.engines.protocol import CloudName, EngineRequest
from infra.model.errors import ConfigError, EngineError
from infra.model.plan import Event, Op, Status, Step
from tests.engines.official.replay import Answer, Reply, ScriptedCli, document, says
from tests.synthetic_lab import lend

ROOT = Path(__file__).resolve().parents[3]
NO_STACK = Answer(stderr="error: no stack named 'ci' found", code=6)
FAILED = Answer(events="up-failed", stderr="error: update failed", code=1)


def nothing_in_flight() -> str:
    exported = document("killed.json")
    del exported["deployment"]["pending_operations"]
    return json.dumps(exported)


def script(**replies: Reply) -> dict[str, list[Reply]]:
    """Answers to what the driver asks besides the operation itself."""
    common = {
        "stack export": says(Answer(stdout=nothing_in_flight())),
        "stack output": says(Answer(stdout='{"pools": {"tpu-ci": 2}, "key": "[secret]"}')),
        "stack init": says(Answer()),
    }
    return {words.replace("_", " "): [reply] for words, reply in {**common, **replies}.items()}


@pytest.fixture
def request_(tmp_path: Path, quick_cloud: TestCloud) -> EngineRequest:
    root = tmp_path / "checkout"
    root.mkdir()
    lend(root)
    return EngineRequest(
        root=root, home=tmp_path / "home", stack="ci", cloud=CloudName.LOCAL, cloud_url=quick_cloud.url
    )


def engine(request_: EngineRequest, cli: ScriptedCli) -> OfficialEngine:
    return OfficialEngine(request_, runner=cli, environ={"PULUMI_CONFIG_PASSPHRASE": "words"})


def test_a_preview_of_a_stack_without_state_makes_none(request_: EngineRequest) -> None:
    answers = [says(NO_STACK), says(Answer(events="preview-create"))]
    cli = ScriptedCli({**script(), "preview": answers})
    plan = engine(request_, cli).preview()
    assert plan.summary["create"] == 6
    assert len(cli.asked("stack init")) == 1
    assert "home/state" not in cli.environment["PULUMI_BACKEND_URL"]
    assert not list((request_.home / "state" / "local").iterdir())


def test_a_stack_that_reads_anothers_registries_finds_them_on_the_passing_backend(request_: EngineRequest) -> None:
    taken: list[dict[str, Any]] = []

    def take(args: list[str]) -> Answer:
        taken.append(json.loads(Path(args[args.index("--file") + 1]).read_text()))
        return Answer()

    answers = [says(NO_STACK), says(Answer(events="preview-create"))]
    cli = ScriptedCli({**script(), "preview": answers, "stack import": [take]})
    engine(replace(request_, stack="nightly"), cli).preview()
    assert cli.asked("stack init")[0].startswith("stack init organization/tidepool/ci")
    (lent,) = taken
    assert [resource["type"] for resource in lent["deployment"]["resources"]] == ["pulumi:pulumi:Stack"]


def test_registries_of_a_stack_that_is_not_deployed_name_the_command_that_deploys_it(request_: EngineRequest) -> None:
    def export(args: list[str]) -> Answer:
        return NO_STACK if "organization/tidepool/ci" in args else Answer(stdout=nothing_in_flight())

    cli = ScriptedCli({**script(stack_export=export), "preview": [says(NO_STACK)]})
    with pytest.raises(EngineError, match=r"the stack ci is not deployed\. Fix: run `\./tidepool up ci`"):
        engine(replace(request_, stack="nightly"), cli).preview()


def test_options_of_the_request_reach_the_cli(request_: EngineRequest) -> None:
    cli = ScriptedCli(script(up=says(Answer(events="up-create"))))
    chosen = replace(request_, parallel=7, targets=("urn:a", "urn:b"), continue_on_error=True, refresh=True)
    engine(chosen, cli).up()
    (command,) = cli.asked("up")
    for words in ("--parallel 7", "--target urn:a", "--target urn:b", "--continue-on-error", "--refresh", "--stack ci"):
        assert words in command


def test_what_a_request_excludes_reaches_the_cli_but_for_a_destroy(request_: EngineRequest) -> None:
    answers = {"up": "up-create", "preview": "preview-create", "destroy": "destroy-protected"}
    cli = ScriptedCli(script(**{operation: says(Answer(events=name)) for operation, name in answers.items()}))
    for operation in answers:
        getattr(engine(replace(request_, excludes=("urn:a",), exclude_protected=True), cli), operation)()
        assert [" --exclude urn:a" in each for each in cli.asked(operation)] == [operation != "destroy"]


def test_what_a_failure_kept_from_beginning_is_skipped(request_: EngineRequest) -> None:
    cli = ScriptedCli(script(preview=says(Answer(events="preview-change")), up=says(FAILED)))
    driver = engine(request_, cli)
    planned = driver.preview()
    late = Step(op=Op.CREATE, urn="urn:pulumi:ci::tidepool::a:b:C::late", type="a:b:C", name="late")
    run = driver.up(planned=type(planned)(stack="ci", engine="pulumi", cloud="local", steps=(*planned.steps, late)))
    assert [step.name for step in run.steps if step.status is Status.SKIPPED] == ["late"]


def test_a_listener_that_fails_ends_the_operation_with_its_own_error(request_: EngineRequest) -> None:
    def broken(_: Event) -> None:
        raise BrokenPipeError

    cli = ScriptedCli(script(up=says(Answer(events="up-create"))))
    with pytest.raises(BrokenPipeError):
        engine(request_, cli).up(broken)


def test_a_cli_that_is_killed_is_a_failed_run_of_what_it_had_begun(request_: EngineRequest) -> None:
    killed = Answer(events="up-replace", stderr="error: the pulumi CLI was ended by SIGKILL; run it again", code=-9)
    cli = ScriptedCli(script(up=says(killed)))
    run = engine(request_, cli).up()
    assert run.failed
    assert any("SIGKILL" in said.message for said in run.diagnostics)


def test_a_backend_that_does_not_answer_is_told_before_anything_is_done(request_: EngineRequest) -> None:
    cli = ScriptedCli(script(stack_export=says(Answer(stderr="error: could not list bucket: 403", code=255))))
    with pytest.raises(EngineError, match="could not list bucket"):
        engine(request_, cli).up()
    assert cli.asked("up") == []


def test_a_stack_file_at_fault_never_reaches_the_cli(request_: EngineRequest) -> None:
    path = request_.root / "stacks" / "Pulumi.ci.yaml"
    path.write_text(path.read_text().replace("us-west4-a: 2", "us-west4-a: -2"))
    cli = ScriptedCli({})
    with pytest.raises(ConfigError):
        engine(request_, cli).up()
    assert cli.calls == []


@pytest.mark.parametrize("operation", ["refresh", "destroy"])
def test_a_stack_without_state_has_nothing_to_do(request_: EngineRequest, operation: str) -> None:
    cli = ScriptedCli(script(stack_export=says(NO_STACK)))
    run = getattr(engine(request_, cli), operation)()
    assert run.steps == ()
    assert [said.severity for said in run.diagnostics] == ["info"]
    assert cli.asked("stack init") == []


def protected(name: str) -> Reply:
    exported = json.loads(nothing_in_flight())
    for resource in exported["deployment"]["resources"]:
        resource["protect"] = resource["urn"].endswith(f"::{name}")
    return says(Answer(stdout=json.dumps(exported)))


def test_a_protected_resource_keeps_all_of_the_stack(request_: EngineRequest) -> None:
    cli = ScriptedCli(script(stack_export=protected("runners")))
    run = engine(request_, cli).destroy()
    assert [(step.name, step.op, step.status) for step in run.steps] == [("runners", Op.DELETE, Status.FAILED)]
    assert run.steps[0].error == "runners (Network) is protected"
    assert [said.message for said in run.diagnostics if said.severity == "error"] == [
        "runners (Network) is protected, so nothing is deleted (docs/never.md says what would be lost)"
    ]
    assert run.failed


def test_a_stack_without_state_has_no_outputs(request_: EngineRequest) -> None:
    assert engine(request_, ScriptedCli(script(stack_output=says(NO_STACK)))).outputs() == {}


@pytest.mark.parametrize("operation", ["preview", "up", "refresh", "destroy"])
def test_the_checkout_stays_as_it_was_and_no_secret_is_asked_for_in_clear(
    request_: EngineRequest, operation: str
) -> None:
    before = {path: path.read_bytes() for path in request_.root.rglob("*") if path.is_file()}
    names = {"preview": "preview-create", "up": "up-create", "refresh": "refresh-gone", "destroy": "destroy-protected"}

    def writes_into_its_stack_file(_: list[str]) -> Answer:
        folder = Path(cli.folders[-1])
        with (folder / "stacks" / "Pulumi.ci.yaml").open("a") as file:
            file.write("encryptionsalt: v1:abc\n")
        return Answer(events=names[operation])

    cli = ScriptedCli(script(**{operation: writes_into_its_stack_file}))
    getattr(engine(request_, cli), operation)()
    assert not [call for call in cli.calls if "--show-secrets" in call]
    assert {path: path.read_bytes() for path in request_.root.rglob("*") if path.is_file()} == before
