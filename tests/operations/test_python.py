"""What docs/python.md promises a Python user: the example runs as it stands, and nothing is printed."""

from __future__ import annotations

import re
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bench.cloud import daemon
from tests.synthetic_lab import lend

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    root = lend(tmp_path / "checkout")
    for name, value in {"TIDEPOOL_ROOT": root, "TIDEPOOL_HOME": root / ".tidepool", "HOME": root, "PATH": ""}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    yield root
    daemon.stop(root / ".tidepool")


@pytest.mark.end_to_end
@pytest.mark.usefixtures("checkout")
def test_the_example_previews_a_stack_and_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    example, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    found: dict[str, Any] = {}
    exec(compile(example, "docs/python.md", "exec"), found)
    planned = found["planned"]
    assert planned.plan.summary["create"] > 0
    assert not planned.stopped
    said = capsys.readouterr()
    assert (said.out, said.err) == (f"{planned.plan.summary}\nFalse []\n", "")


def test_every_function_that_the_page_names_is_there() -> None:
    named = re.findall(r"`((?:stacks|setup|fleet|images)\.\w+)\.(\w+)\(", PAGE)
    assert len(named) > 20
    for module, function in named:
        assert callable(getattr(import_module(f"infra.operations.{module}"), function))
