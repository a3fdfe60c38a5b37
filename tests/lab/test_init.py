"""`./tidepool init`: from a clone of this project to another lab's files, which are those of docs/next-lab.md."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from bench.cloud import daemon
from infra.cli.app import cli
from infra.model.errors import ConfigError
from infra.operations.errors import Refusal
from infra.operations.setup.init import LabAnswers, plan_lab
from tests.cli.conftest import ROOT, Checkout
from tests.lab.test_next_lab import FILES, MODELS, PAGE, STACK, write

DEEP: Final = LabAnswers(
    project="deep-lab",
    owner="deep",
    models="deep-lab/models",
    tidepool="deep-lab/tidepool",
    accelerator="v5litepod-4",
    zone="us-west4-a",
    count=2,
    capacity="spot",
    fork_accelerator="v6e-1",
    fork_zone="us-east5-b",
    package="models",
    checkout=Path("models"),
)
_ASKED: Final = ("project", "owner", "models", "tidepool", "accelerator", "zone", "count", "package")
FLAGS: Final = [part for name in _ASKED for part in (f"--{name}", str(getattr(DEEP, name)))]
FORKS: Final = ["--fork-accelerator", "v6e-1", "--fork-zone", "us-east5-b"]
PATHS: Final = (
    "actions",
    "stacks",
    "images",
    "infra/fleet/runner",
    "infra/model/facts",
    "workflows",
    ".github",
    "tests/lab",
)


def commit(root: Path) -> None:
    who = ["-c", "user.name=deep", "-c", "user.email=deep@deep-lab.org"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "Begin"]):
        subprocess.run(["git", "-C", root, *command], check=True)


@pytest.fixture
def clone(tmp_path: Path) -> Generator[Checkout]:
    """What `init` reads and replaces of this project, as a repository of its own."""
    root = tmp_path / "tidepool"
    for folder in PATHS:
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("LICENSE", "Pulumi.yaml", "infra/__init__.py", "requirements-service.lock", ".gitignore"):
        shutil.copy(ROOT / file, root / file)
    commit(root)
    yield Checkout(root)
    daemon.stop(root / ".tidepool")


@pytest.fixture
def models(tmp_path: Path) -> Path:
    write(tmp_path / "models", MODELS)
    commit(tmp_path / "models")
    return tmp_path / "models"


def changed(clone: Checkout) -> list[str]:
    """As git tells them, two letters and a blank before each path."""
    asked = ["git", "-C", clone.root, "status", "--porcelain", "-uall"]
    return subprocess.run(asked, capture_output=True, check=True, text=True).stdout.splitlines()


def run(clone: Checkout, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    """With the git of this machine, and no pulumi."""
    git = shutil.which("git")
    assert git is not None
    only_git = clone.root.parent / "bin"
    only_git.mkdir(exist_ok=True)
    (only_git / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(only_git))
    return CliRunner().invoke(cli, ["init", *arguments], env=clone.environ | {"PATH": str(only_git)})


def test_its_files_are_those_of_the_page(clone: Checkout, models: Path) -> None:
    made = plan_lab(clone.root, replace(DEEP, checkout=models)).writes
    for path in (STACK, "images/images.yaml", "images/tpu-ci/Dockerfile.dockerignore", "workflows/spec/models.yaml"):
        lines = made[path].splitlines()
        bare = [line for line in lines if not line.startswith("#")]
        assert "\n".join(bare).strip() == FILES[path].strip(), path
    assert "for package in .;" in made["images/tpu-ci/Dockerfile"]


@pytest.mark.end_to_end
def test_a_clone_becomes_another_labs_and_its_preview_passes(
    clone: Checkout, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(clone, monkeypatch, *FLAGS, *FORKS, "--checkout", str(models), "--yes")
    assert done.exit_code == 0, done.output
    written = {f"+ {line[3:]}" for line in changed(clone) if not line.startswith(" D")}
    assert written - set(done.output.splitlines()) == set()
    assert {"- .github/workflows/docker-images.yaml", "- actions/run-on/action.yml"} <= set(done.output.splitlines())
    assert [folder for folder in clone.root.glob("[a-z]*/**") if not any(folder.iterdir())] == []
    assert "Left to do:\n  1. Google: a project deep-lab with billing" in done.output
    assert "ci: " in done.output
    assert not (clone.root / "tests/lab").exists()
    assert sorted(path.name for path in (clone.root / "stacks").glob("*.yaml")) == ["Pulumi.ci.yaml"]
    assert (clone.root / "workflows/generated/models").is_dir()
    assert "nothing to mend" in clone.ok("workflows", "--check").output
    for back in re.findall(r"`git ((?:checkout|clean) [^`]+)`", PAGE):
        subprocess.run(["git", "-C", clone.root, *back.split()], check=True)
    assert changed(clone) == [], "what the page says takes it back"


def test_what_git_has_not_is_never_replaced(clone: Checkout, models: Path) -> None:
    clone.edit("ci", "tidepool:owner: marin", "tidepool:owner: anna")
    shutil.copy(clone.path("nightly"), clone.path("mine"))
    with pytest.raises(Refusal, match=r"git has no copy of them: stacks/Pulumi\.ci\.yaml, stacks/Pulumi\.mine\.yaml"):
        plan_lab(clone.root, replace(DEEP, checkout=models))


def test_wrong_answers_are_told_together(clone: Checkout) -> None:
    wrong = replace(DEEP, models="models", accelerator="v5lite-4", zone="us-west4", fork_zone=None)
    with pytest.raises(ConfigError) as refused:
        plan_lab(clone.root, wrong)
    subjects = [problem.subject for problem in refused.value.problems]
    assert subjects == ["--accelerator", "--fork-accelerator, --fork-zone", "--models", "--zone"]


def test_without_a_terminal_every_missing_answer_is_named(clone: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = run(clone, monkeypatch, "--project", "deep-lab", "--count", "2")
    assert refused.exit_code == 2
    assert "needs --owner, --models, --tidepool, --accelerator, --zone, --checkout, --package" in refused.stderr


def test_nothing_is_written_without_a_yes(clone: Checkout, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = run(clone, monkeypatch, *FLAGS, "--checkout", str(models))
    assert refused.exit_code == 2
    assert "needs a yes" in refused.stderr
    assert changed(clone) == []


@pytest.mark.parametrize(
    ("flags", "gone", "said"),
    [
        (["--tests", "nosuch"], "", "has no test below nosuch"),
        (["--package", "nopkg"], "", "--package: nopkg"),
        ([], "uv.lock", "uv.lock is not at its top"),
    ],
)
def test_nothing_changes_where_the_checkout_has_not_what_is_named(
    clone: Checkout, models: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], gone: str, said: str
) -> None:
    if gone:
        (models / gone).unlink()
    refused = run(clone, monkeypatch, *FLAGS, *FORKS, "--checkout", str(models), *flags, "--yes")
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert changed(clone) == []


@pytest.mark.end_to_end
def test_a_person_is_asked_what_no_flag_says(clone: Checkout, models: Path) -> None:
    """On a terminal; a no at the end leaves everything as it was."""
    answers = ["deep-lab", "deep", "deep-lab/models", "deep-lab/tidepool", "foo", "v5litepod-4", "us-west4-a", "2"]
    typed = "".join(f"{each}\n" for each in (*answers, models, "model", "", "n", "n"))
    code, drawn = clone.at_terminal("init", typed=typed)
    assert code != 0
    assert "Accelerator of your VMs, such as v5litepod-4: " in drawn
    assert drawn.count("Accelerator of your VMs") == 2, "a wrong answer is asked again at once"
    assert "Python package of it that is tested [models]: " in drawn, "the only one of the checkout is offered"
    assert "no pyproject.toml of" in drawn, "another is asked for again"
    assert "is no git checkout" in drawn, "PATH has no git"
