"""The examples of docs/python.md are run as they stand there, and the functions that it names are there."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.conftest import Checkout

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "python.md").read_text()
Run = Callable[[int], str]


@pytest.fixture
def run(upped: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the example of this number, and says what it printed."""
    for name, value in upped.environ.items():
        monkeypatch.setenv(name, value)

    def run(number: int) -> str:
        code = re.findall(r"```python\n(.+?)```", PAGE, flags=re.DOTALL)[number]
        exec(compile(code, "docs/python.md", "exec"), {})
        captured = capsys.readouterr()
        assert captured.err == "", "an operation prints nothing"
        return captured.out

    return run


def test_every_function_that_the_page_names_is_there() -> None:
    named = re.findall(r"`((?:stacks|setup|fleet|images)\.\w+)\.(\w+)\(", PAGE)
    assert len(named) > 20
    for module, function in named:
        assert callable(getattr(import_module(f"infra.operations.{module}"), function))


def test_a_stack_is_previewed(run: Run) -> None:
    summary, stopped = run(0).splitlines()
    assert ("'create': 0" in summary, stopped) == (True, "False []")


def test_a_fleet_is_looked_at_and_drained(upped: Checkout, run: Run) -> None:
    upped.ok("cloud", "clock", "--advance", "2m")
    said = run(1).splitlines()
    assert said[:4] == [
        "tpu-ci 6 of 6 READY, 0 jobs wait",
        "tpu-v4 1 of 1 READY, 0 jobs wait",
        "tpu-v5p 1 of 1 READY, 0 jobs wait",
        "tpu-v6e 1 of 1 READY, 0 jobs wait",
    ]
    assert said[4].startswith("tpu-v4-us-central2-b-0: ")
    assert said[5] == "missing: []"
    assert said[6:] == ["still busy: []", "take jobs again: ('tpu-v4-us-central2-b-0',)"]


def test_images_are_asked_about(run: Run) -> None:
    said = run(2)
    assert re.search(r"^tpu-ci None \(", said, flags=re.MULTILINE), said


def test_a_fleet_is_waited_for_until_every_vm_serves(upped: Checkout, run: Run) -> None:
    upped.ok("cloud", "node", "remove", "tpu-v4-us-central2-b-0")
    assert upped.json("status", "ci")["stacks"][0]["healthy"] is False
    upped.ok("reconcile", "ci")
    assert run(3) == "9 of 9 VMs serve\n"
    assert upped.json("status", "ci")["stacks"][0]["pools"][1]["online"] == 1


def test_the_price_of_more_chips_is_that_of_the_edit(run: Run) -> None:
    said = run(4)
    assert said == "16 chips more of v5litepod-4: $7.68 an hour, $5,606.40 a month\n"
