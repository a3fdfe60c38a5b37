"""What a shell completes, as click's own completion answers it, and the line that turns it on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from infra.cli.app import cli
from infra.operations.setup.completion import SHELLS, install
from tests.cli.conftest import Checkout
from tests.synthetic_lab import lend


def offered(root: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """What is offered for the last of these words."""
    monkeypatch.setenv("TIDEPOOL_ROOT", str(root))
    shell = ShellComplete(cli, {}, "tidepool", "_TIDEPOOL_COMPLETE")
    return [each.value for each in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lend(tmp_path_factory.mktemp("lab"))


@pytest.mark.parametrize(
    "words", [("preview", ""), ("up", ""), ("validate", "ci", ""), ("status", ""), ("why", "--stack", "")]
)
def test_stacks_complete_where_a_stack_is_meant(
    lab: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    assert offered(lab, monkeypatch, *words) == ["ci", "nightly", "training"]


def test_pools_and_declared_vms_complete_by_their_start(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pools_and_vms = offered(lab, monkeypatch, "drain", "tpu-v4")
    assert pools_and_vms[0] == "tpu-v4"
    assert all(each.startswith("tpu-v4-us-") for each in pools_and_vms[1:])
    assert len(pools_and_vms) > 1
    assert offered(lab, monkeypatch, "rollout", "pause", "tpu-v4") == ["tpu-v4"]
    assert offered(lab, monkeypatch, "why", "tpu-v4") == pools_and_vms
    assert "us-west4-a" in offered(lab, monkeypatch, "why", "us-")
    assert "us-west4-a" in offered(lab, monkeypatch, "zone", "lost", "us-")


def test_a_stack_that_is_said_narrows_the_names(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered(lab, monkeypatch, "drain", "--stack", "nightly", "tpu-v4") == []


def test_a_file_with_a_mistake_hides_no_names_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = Checkout(lend(tmp_path))
    checkout.edit("nightly", "trust: fork", "trust: forc")
    assert "tpu-v4" in offered(checkout.root, monkeypatch, "drain", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_line_is_installed_once(tmp_path: Path, shell: str) -> None:
    environ = {"HOME": str(tmp_path)}
    path, written = install(shell, environ)
    assert written
    assert f"completion {shell}" in path.read_text()
    before = path.read_text()
    assert install(shell, environ) == (path, False)
    assert path.read_text() == before


def test_bash_takes_the_script() -> None:
    script = CliRunner().invoke(cli, ["completion", "bash"]).output
    done = subprocess.run(["bash", "-c", f"{script}\ncomplete -p tidepool"], capture_output=True, text=True, check=True)
    assert "_tidepool_completion" in done.stdout
