"""What a newcomer sees, and how failures reach people and programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from infra.cli import app, failures, lazy
from infra.model.errors import ConfigError, EngineError, Problem
from tests.cli.conftest import ROOT, Checkout

if TYPE_CHECKING:
    from pathlib import Path
    from types import SimpleNamespace

HEAVY = {"pulumi", "pulumi_gcp", "pydantic", "rich", "google", "googleapiclient", "yaml"}


def _fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let `tidepool output` be a command that ends so."""

    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    @click.pass_context
    def command(ctx: click.Context, *, as_json: bool) -> None:
        ctx.meta[failures.WANTS_JSON] = as_json
        raise error

    monkeypatch.setitem(app.cli.entries, "output", lazy.Entry("tests.cli.stand_in", ""))
    monkeypatch.setattr(lazy, "import_module", lambda _: _module(command))


def _module(command: click.Command) -> SimpleNamespace:
    from types import SimpleNamespace

    return SimpleNamespace(command=command)


def test_the_help_names_every_command_and_the_first_steps(checkout: Checkout) -> None:
    said = checkout.ok("--help").stdout
    assert all(f"\n  {name} " in said for name in app.cli.entries)
    assert "./tidepool up ci" in said
    assert max(map(len, said.splitlines())) <= 80


def test_every_command_of_the_table_exists_and_has_help(checkout: Checkout) -> None:
    for name in app.cli.entries:
        assert f"tidepool {name}" in checkout.ok(name, "--help").stdout


def test_the_help_of_a_group_says_what_each_command_does_to_the_end() -> None:
    groups = [(name, group) for name in app.cli.entries if isinstance(group := _command(app.cli, name), click.Group)]
    below = [
        (name, one)
        for _, group in groups
        for name in group.commands
        if isinstance(one := _command(group, name), click.Group)
    ]
    assert len(groups) > 5
    assert below
    for name, group in (*groups, *below):
        said = group.get_help(click.Context(group, info_name=name, terminal_width=78))
        assert not [line for line in said.splitlines()[1:] if line.endswith("...")], name


def _command(group: click.Group, name: str) -> click.Command | None:
    return group.get_command(click.Context(group), name)


def test_the_help_loads_no_heavy_package() -> None:
    program = "import sys\nfrom infra.cli.app import cli\ncli(['--help'], standalone_mode=False)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert not loaded & HEAVY


def test_an_unknown_command_is_met_with_the_nearest_one(checkout: Checkout) -> None:
    result = checkout.run("prevue")
    assert result.exit_code == 2
    assert "Did you mean 'preview'?" in result.stderr


def test_an_unknown_stack_is_met_with_the_known_ones(checkout: Checkout) -> None:
    for command in ("up", "preview", "refresh", "destroy", "output"):
        result = checkout.run(command, "cy")
        assert result.exit_code == 2
        assert "there is no stack named cy" in result.stderr
        assert "ci, nightly, training" in result.stderr


def test_a_stack_that_is_left_out_or_mistyped_is_met_with_those_that_there_are(checkout: Checkout) -> None:
    left_out = checkout.run("up")
    assert left_out.exit_code == 2
    assert "Missing argument 'STACK'. Stacks are ci, nightly, training" in left_out.stderr
    near = checkout.run("preview", "nightli")
    assert "write: nightly, or one of ci, training" in near.stderr


def test_a_crash_is_one_line_and_a_log(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    _fails_with(monkeypatch, RuntimeError("the boiler\nburst"))
    result = checkout.run("output")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: this is a fault of Tidepool itself: RuntimeError: the boiler (details: ")
    assert result.stderr.count("\n") == 1
    (log,) = (checkout.home / "logs").iterdir()
    assert str(log) in result.stderr
    assert "raise error" in log.read_text()


def test_invalid_configuration_is_told_whole_and_ends_with_2(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = [Problem("b", "2", "at most 1", "1"), Problem("a", "", "something stands there", "x")]
    _fails_with(monkeypatch, ConfigError(problems))
    result = checkout.run("output", "--json")
    assert result.exit_code == 2
    assert result.stderr.startswith("a\n  problem: something stands there\n  write: x\n\nb: 2\n  problem: at most 1\n")
    assert result.stderr.endswith("2 problems; nothing was changed.\n")
    body = json.loads(result.stdout)
    assert body["exit"] == 2
    assert [problem["subject"] for problem in body["problems"]] == ["a", "b"]


def test_an_engine_that_cannot_start_ends_with_1(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    _fails_with(monkeypatch, EngineError("the stack ci is locked by process 12"))
    result = checkout.run("output", "--json")
    assert result.exit_code == 1
    assert result.stderr == "error: the stack ci is locked by process 12\n"
    assert json.loads(result.stdout) == {"exit": 1, "error": "the stack ci is locked by process 12"}


def test_ctrl_c_says_what_happened_and_ends_with_130(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    _fails_with(monkeypatch, KeyboardInterrupt())
    result = checkout.run("output")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr


def test_the_embedded_engine_is_refused_for_google(checkout: Checkout) -> None:
    result = checkout.run("up", "ci", "--engine", "local", "--cloud", "google")
    assert result.exit_code == 2
    assert "the embedded engine works only on the local cloud" in result.stderr


def test_a_missing_pulumi_cli_is_told_with_the_way_to_get_it(checkout: Checkout) -> None:
    result = checkout.run("preview", "ci", "--engine", "pulumi")
    assert result.exit_code == 2
    assert "https://www.pulumi.com/docs/install/" in result.stderr


def test_doctor_folds_its_lines_at_words(checkout: Checkout) -> None:
    code, drawn = checkout.at_terminal("doctor")
    assert code == 0
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in drawn.splitlines()]
    assert max(map(len, lines)) <= 80
    assert "With this, commands use" in " ".join(lines)


def test_help_that_was_not_asked_for_is_help_too(checkout: Checkout) -> None:
    for asked in ((), ("cloud",), ("images",)):
        shown = checkout.run(*asked)
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert shown.stdout == checkout.ok(*asked, "--help").stdout


def test_the_version_is_a_commit_and_what_decides_a_plan(checkout: Checkout) -> None:
    asked = [sys.executable, "-m", "infra.cli", "--version"]
    said = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    versions = r"\(Pulumi SDK 3\.\d+\.\d+, Google provider \d+\.\d+\.\d+\)\n"
    assert re.fullmatch(rf"tidepool [0-9a-f]{{12}}(-dirty)? {versions}engine: .*\n", said)
    without_git = checkout.ok("--version").stdout
    embedded = "engine: embedded, since the pulumi CLI is not on PATH\n"
    assert re.fullmatch(rf"tidepool of no known commit {versions}{embedded}", without_git)


def test_the_version_says_those_of_the_pulumi_cli_and_its_plugin(checkout: Checkout, tmp_path: Path) -> None:
    for name, said in (("pulumi", "v3.260.0"), ("pulumi-resource-gcp", "10.2.0")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {said}\n")
        (tmp_path / name).chmod(0o755)
    environ = checkout.environ | {"PATH": str(tmp_path)}
    both = CliRunner().invoke(app.cli, ["--version"], env=environ).stdout
    assert both.endswith("\nengine: pulumi CLI v3.260.0, gcp plugin 10.2.0\n")
    (tmp_path / "pulumi-resource-gcp").unlink()
    alone = CliRunner().invoke(app.cli, ["--version"], env=environ).stdout
    assert alone.endswith("gcp plugin fetched by the pulumi CLI\n")


@pytest.mark.parametrize(("theirs", "ours"), [("apply", "up"), ("import", "adopt"), ("rm", "forget")])
def test_what_other_tools_call_a_command_leads_to_ours(checkout: Checkout, theirs: str, ours: str) -> None:
    result = checkout.run(theirs)
    assert result.exit_code == 2
    assert f"There is no command {theirs!r}. Did you mean {ours!r}?" in result.stderr
