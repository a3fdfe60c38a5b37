"""Text that others wrote reaches a terminal as words alone, whoever prints it."""

from __future__ import annotations

import ast
import io
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from infra.cli.echo import echo
from infra.cli.render.console import VisibleConsole, people, say
from infra.preview.toned import Tone, text_table, toned

COMMANDS = Path(__file__).parents[2] / "infra" / "cli"
HOSTILE = "\x1b]0;title\x07\x1b[2J\x1b[1;1Hpool tpu-ci: all is well\x9b2K\r\u202e"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def steering(text: str) -> list[str]:
    return [each for each in text.replace("\n", "") if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


@given(st.text(st.characters(exclude_categories=())))
def test_a_console_prints_any_text_as_words(text: str) -> None:
    out = io.StringIO()
    console = VisibleConsole(file=out, force_terminal=True, color_system=None, markup=False, width=80)
    say(console, Text(text))
    say(console, text_table((text,), [(text,)]), toned((text, Tone.PROBLEM), indent=2))
    assert not steering(out.getvalue())


def test_its_own_colours_stay() -> None:
    out = io.StringIO()
    say(VisibleConsole(file=out, force_terminal=True, color_system="standard", width=200), Text(HOSTILE, style="red"))
    assert "\x1b[31m" in out.getvalue()
    assert not steering(COLOURS.sub("", out.getvalue()))


def test_lines_printed_without_a_console_are_words_too(capsys: pytest.CaptureFixture[str]) -> None:
    echo(HOSTILE)
    echo(f"error: {HOSTILE}", err=True)
    told = capsys.readouterr()
    assert told.out.startswith("\\u001b]0;title\\u0007")
    assert not steering(told.out + told.err)


def test_every_command_prints_through_one_edge() -> None:
    assert isinstance(people(), VisibleConsole)
    for path in COMMANDS.rglob("*.py"):
        if path not in (COMMANDS / "echo.py", COMMANDS / "render" / "console.py"):
            found = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call)]
            called = {ast.unparse(each.func) for each in found}
            past = called & {"click.echo", "click.secho", "print", "Console", "sys.stdout.write", "sys.stderr.write"}
            assert not past, f"{path.name} prints past infra.cli.echo and render.console: {past}"
