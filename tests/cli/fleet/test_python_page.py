"""The examples of docs/python.md are run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Checkout

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "python.md").read_text()


def example(heading: str, number: int) -> str:
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.+?)```", section, flags=re.DOTALL)[number]


def run(code: str, checkout: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    for name, value in checkout.environ.items():
        monkeypatch.setenv(name, value)
    exec(compile(code, "docs/python.md", "exec"), {})
    captured = capsys.readouterr()
    assert captured.err == "", "an operation prints nothing"
    return captured.out


def test_a_fleet_is_looked_at_and_drained(
    upped: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    upped.ok("cloud", "clock", "--advance", "2m")
    said = run(example("Ask about a fleet", 0), upped, monkeypatch, capsys).splitlines()
    assert said[:4] == [
        "tpu-ci 6 of 6 READY, 0 jobs wait",
        "tpu-v4 1 of 1 READY, 0 jobs wait",
        "tpu-v5p 1 of 1 READY, 0 jobs wait",
        "tpu-v6e 1 of 1 READY, 0 jobs wait",
    ]
    assert said[4].startswith("tpu-v4-us-central2-b-0: ")
    assert said[5] == "missing: []"
    assert said[6:] == ["still busy: []", "take jobs again: ('tpu-v4-us-central2-b-0',)"]


def test_images_are_asked_about(
    upped: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run(example("Ask about a fleet", 1), upped, monkeypatch, capsys)
    assert re.search(r"^tpu-ci None \(", said, flags=re.MULTILINE), said


def test_a_fleet_is_waited_for_until_every_vm_serves(
    upped: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    upped.ok("cloud", "node", "remove", "tpu-v4-us-central2-b-0")
    assert upped.json("status", "ci")["stacks"][0]["healthy"] is False
    upped.ok("reconcile", "ci")
    assert run(example("Wait for a fleet", 0), upped, monkeypatch, capsys) == "9 of 9 VMs serve\n"
    assert upped.json("status", "ci")["stacks"][0]["pools"][1]["online"] == 1


def test_the_price_of_more_chips_is_that_of_the_edit(
    upped: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run(example("Ask what 16 more chips would cost", 0), upped, monkeypatch, capsys)
    assert said == "16 chips more of v5litepod-4: $7.68 an hour, $5,606.40 a month\n"
