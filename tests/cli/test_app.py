"""What a newcomer sees, and how failures reach people and programs."""

from __future__ import annotations

import json
import re
import sys
from io import StringIO
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from infra.cli import app, failures, lazy
from infra.cli.answers import answered
from infra.cli.call import Invocation
from infra.cli.echo import echo, host_log, machines, works_on
from infra.engines.protocol import CloudName
from infra.model.errors import ConfigError, EngineError, Problem
from infra.operations.errors import Failure, Interruption, Refusal
from tests.cli.conftest import Checkout


def _groups(group: click.Group) -> list[tuple[str, click.Group]]:
    context = click.Context(group)
    found = [(name, one) for name in group.list_commands(context) if (one := group.get_command(context, name))]
    inner = [(name, one) for name, one in found if isinstance(one, click.Group)]
    return [*inner, *(below for _, one in inner for below in _groups(one))]


def test_the_help_names_every_command_and_each_command_has_help(checkout: Checkout) -> None:
    said = checkout.ok("--help").stdout
    assert "./tidepool up ci" in said
    assert max(map(len, said.splitlines())) <= 80
    for name in app.cli.entries:
        assert f"\n  {name} " in said
        assert f"tidepool {name}" in checkout.ok(name, "--help").stdout
    for asked in ((), ("cloud",), ("images",)):
        shown = checkout.run(*asked)
        assert (shown.exit_code, shown.stderr, shown.stdout) == (0, "", checkout.ok(*asked, "--help").stdout)
    for name, group in _groups(app.cli):
        lines = group.get_help(click.Context(group, info_name=name, terminal_width=78)).splitlines()[1:]
        assert not [line for line in lines if line.endswith("...")], name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("prevue", "Did you mean 'preview'?"),
        ("apply", "There is no command 'apply'. Did you mean 'up'?"),
        ("import", "There is no command 'import'. Did you mean 'adopt'?"),
        ("rm", "There is no command 'rm'. Did you mean 'forget'?"),
        ("images undoo", "Did you mean 'undo'?"),
        ("up", "Missing argument 'STACK'. Stacks are ci, nightly, training"),
        ("up cy", "there is no stack named cy"),
        ("refresh cy", "ci, nightly, training"),
        ("preview nightli", "write: nightly, or one of ci, training"),
        ("validate nigtly", "write: nightly"),
        ("calendar nihgtly", "write: nightly"),
        ("bootstrap nosuch --cloud local", "there is no stack named nosuch"),
        ("bootstrap --cloud local --project another-lab", "hai-gcp-models"),
        ("drain tpu-cii", "no pool or VM named tpu-cii. Did you mean 'tpu-ci'?"),
        ("up ci --engine local --cloud google", "the embedded engine works only on the local cloud"),
        ("preview ci --engine pulumi", "https://www.pulumi.com/docs/install/"),
        ("images build controller --trigger --no-cache", "leave --trigger out"),
        ("workflows --write --explain a.yaml", "--explain"),
    ],
)
def test_wrong_usage_ends_with_2_and_leads_on(checkout: Checkout, words: str, said: str) -> None:
    result = checkout.run(*words.split())
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.stderr.split())


PROBLEMS = [Problem("b", "2", "at most 1", "1"), Problem("a", "", "something stands there", "x")]
FAULT = "error: this is a fault of Tidepool itself:"
ONE = "b: 2\n  problem: at most 1\n  write: 1\n"
TOLD = f"a\n  problem: something stands there\n  write: x\n\n{ONE}"


@pytest.mark.parametrize(
    ("error", "code", "body", "stderr"),
    [
        (ConfigError(PROBLEMS), 2, {"exit": 2}, f"{TOLD}\n2 problems; nothing was changed.\n"),
        (EngineError("it is locked"), 1, {"exit": 1, "error": "it is locked"}, "error: it is locked\n"),
        (Failure("it broke"), 1, {"exit": 1, "error": "it broke"}, "error: it broke\n"),
        (Refusal("not that"), 2, {"exit": 2, "error": "not that"}, "error: not that\n"),
        (Interruption("Cut off."), 130, None, "Cut off.\n"),
        (KeyboardInterrupt(), 130, None, "Interrupted"),
        (ConfigError(PROBLEMS[:1]), 2, {"exit": 2}, f"{ONE}\n1 problem; nothing was changed.\n"),
        (OSError(28, "full", "a.txt"), 1, {"exit": 1}, "error: a.txt cannot be read or written: full\n"),
        (OSError(18, "far", "a", None, "b"), 1, {"exit": 1}, "error: a and b cannot be read or written: far\n"),
        (OSError(5, "worn"), 1, {"exit": 1}, "error: this machine refused: worn\n"),
        (RuntimeError("the boiler\nburst"), 1, {}, f"{FAULT} RuntimeError: the boiler (details: "),
        (RuntimeError(), 1, {}, f"{FAULT} RuntimeError (details: "),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_failure_has_its_exit_code_and_its_words(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, body: Any, stderr: str
) -> None:
    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    @click.pass_context
    def command(ctx: click.Context, *, as_json: bool) -> None:
        ctx.meta[failures.WANTS_JSON] = as_json
        raise error

    monkeypatch.setitem(app.cli.entries, "output", lazy.Entry("tests.cli.stand_in", ""))
    monkeypatch.setattr(lazy, "import_module", lambda _: SimpleNamespace(command=command))
    result = checkout.run("output", "--json")
    assert (result.exit_code, result.stderr[: len(stderr)]) == (code, stderr)
    if body:
        told = json.loads(result.stdout)
        assert told == body if "error" in body else told["exit"] == body["exit"]
        assert result.stderr == stderr
    if isinstance(error, ConfigError):
        told = json.loads(result.stdout)
        assert [each["subject"] for each in told["problems"]] == sorted(each.subject for each in error.problems)
        assert told["unchecked"] == {}
    if isinstance(error, RuntimeError):
        log = max((checkout.home / "logs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        assert (str(log) in result.stderr, result.stderr.count("\n")) == (True, 1)
        assert "raise error" in log.read_text()


@pytest.mark.parametrize(
    ("cloud", "yes", "terminal", "answer", "raised"),
    [
        (CloudName.LOCAL, False, False, None, None),
        (CloudName.GOOGLE, True, False, None, None),
        (CloudName.GOOGLE, False, False, None, Refusal),
        (CloudName.GOOGLE, False, True, True, None),
        (CloudName.GOOGLE, False, True, False, Failure),
    ],
)
def test_google_is_asked_about_unless_yes_was_said(
    monkeypatch: pytest.MonkeyPatch, cloud: CloudName, yes: bool, terminal: bool, answer: bool | None, raised: Any
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: terminal))
    monkeypatch.setattr(click, "confirm", lambda *_, **__: answer)
    asked = Invocation(yes=yes)
    if raised is None:
        asked.ask_before_google("Applying", cloud)
    else:
        with pytest.raises(raised, match=r"needs a yes.*--yes" if raised is Refusal else "nothing was changed"):
            asked.ask_before_google("Applying", cloud)


def test_objects_name_the_cloud_and_lines_their_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert works_on(CloudName.LOCAL), "outside of a command nothing is kept"
    machines({"a": 1}, indent=None)
    with click.Context(app.cli):
        assert (works_on(CloudName.LOCAL), works_on(CloudName.LOCAL)) == (True, False)
        machines({"a": 1})
    echo("a\tb\n", nl=False, file=(written := StringIO()))
    assert written.getvalue() == "a\tb\n"
    host_log(as_json=False)(0, b"one\ntwo\xff")
    host_log(as_json=True)(2, b"three")
    told = capsys.readouterr()
    assert told.out == '{"a": 1}\n{\n  "cloud": "local",\n  "a": 1\n}\none\ntwo\ufffd\n'
    assert told.err == "2| three\n"


@pytest.mark.parametrize(
    ("lines", "words", "said"),
    [("one", [], "one\n"), (["one", "two"], [], "one\ntwo\n"), ("one", ["--json"], '{\n  "a": 1\n}\n')],
)
def test_what_a_command_returns_is_what_it_prints(lines: str | list[str], words: list[str], said: str) -> None:
    assert CliRunner().invoke(click.command()(answered(lambda: ({"a": 1}, lines))), words).stdout == said


def test_an_object_is_made_for_json_alone() -> None:
    class Found:
        made = 0

        def to_json(self) -> dict[str, str]:
            self.made += 1
            return {"stack": "ci"}

    found = Found()
    assert (Invocation().end(found, failed=True), found.made) == (1, 0)
    assert (Invocation(as_json=True).end(found), found.made) == (0, 1)


def test_the_version_names_the_tool_and_what_decides_a_plan(checkout: Checkout, tmp_path: Any) -> None:
    versions = r"\(Pulumi SDK 3\.\d+\.\d+, Google provider \d+\.\d+\.\d+\)\n"
    embedded = "engine: embedded, since the pulumi CLI is not on PATH\n"
    assert re.fullmatch(rf"tidepool of no known commit {versions}{embedded}", checkout.ok("--version").stdout)
    for name, said in (("pulumi", "v3.260.0"), ("pulumi-resource-gcp", "10.2.0")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {said}\n")
        (tmp_path / name).chmod(0o755)
    for ending in ("\nengine: pulumi CLI v3.260.0, gcp plugin 10.2.0\n", "fetched by the pulumi CLI\n"):
        assert checkout.run("--version", PATH=str(tmp_path)).stdout.endswith(ending)
        (tmp_path / "pulumi-resource-gcp").unlink(missing_ok=True)


def test_doctor_folds_its_lines_at_words_on_a_terminal(checkout: Checkout) -> None:
    code, drawn = checkout.at_terminal("doctor")
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in drawn.splitlines()]
    assert (code, max(map(len, lines)) <= 80, "With this, commands use" in " ".join(lines)) == (0, True, True)
