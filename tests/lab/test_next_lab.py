"""Another lab's files, as docs/next-lab.md shows them: its fleet comes up and serves, and nothing is excepted."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

from bench.cloud import daemon
from tests.cli.conftest import ROOT, Checkout

PAGE: Final = (ROOT / "docs" / "next-lab.md").read_text(encoding="utf-8")
FILES: Final = dict(re.findall(r"^```\w+\n# ([\w./, -]+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
STACK: Final = "stacks/Pulumi.ci.yaml"
SERVING: Final = FILES[f"{STACK}, at its end"]
BUILDS: Final = re.compile(r"^  tidepool:builds:\n(?:(?:    .*)?\n)+?(?=  tidepool)", re.MULTILINE)
MARINS: Final = [each for line in re.findall(r"^\$ git rm -r (.+)$", PAGE, re.MULTILINE) for each in line.split()]
MODELS: Final = {
    "uv.lock": "version = 1\n",
    "pyproject.toml": '[project]\nname = "models"\nversion = "1"\n[tool.pytest.ini_options]\nmarkers = ["tpu_ci"]\n',
    "tests/test_kernel.py": "import pytest\n\n\n@pytest.mark.tpu_ci\ndef test_it() -> None: ...\n",
}


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Checkout]:
    """A copy of this project in which the stack alone is the lab's; its local cloud is ended afterwards."""
    root = tmp_path_factory.mktemp("lab")
    for folder in (".github", "images", "infra/fleet/runner", "infra/model/facts", "workflows"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    for file in ("LICENSE", "Pulumi.yaml", "infra/__init__.py", "requirements-service.lock"):
        shutil.copy(ROOT / file, root / file)
    write(root, {STACK: BUILDS.sub("", FILES[STACK]) + SERVING})
    yield Checkout(root)
    daemon.stop(root / ".tidepool")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the lab's sources."""
    root = tmp_path_factory.mktemp("models")
    write(root, MODELS)
    who = ["-c", "user.name=deep", "-c", "user.email=deep@deep-lab.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "Begin"]):
        subprocess.run(["git", "-C", root, *command], check=True)
    return root


def findings(document: dict) -> list[tuple[str, str]]:
    return [(each["rule"], each["level"]) for each in document["findings"]]


def test_the_page_excepts_nothing() -> None:
    assert "exceptions" not in FILES[STACK] + SERVING
    assert "trust: fork" in FILES[STACK]


def test_a_lab_that_changed_its_stack_alone_has_a_fleet_that_serves(lab: Checkout) -> None:
    up = lab.json("up", "ci", "--yes")
    assert set(findings(up)) == {("job-finds-runner", "warn"), ("pool-has-user", "warn")}
    lab.ok("cloud", "clock", "--advance", "2m")
    (found,) = lab.json("status", "ci")["stacks"]
    assert {each["pool"]: each["online"] for each in found["pools"]} == {"deep-v5e": 2, "deep-fork": 1}
    assert found["healthy"]


@pytest.mark.heavy
def test_every_check_passes_in_its_copy(tmp_path: Path, models: Path) -> None:
    """What `checks.yaml` runs: no test but those of `tests/lab` stands on the files that were taken away."""
    copy = tmp_path / "tidepool"
    subprocess.run(["git", "clone", "-q", ROOT, copy], check=True)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    taken = [*MARINS, "stacks/Pulumi.nightly.yaml", "stacks/Pulumi.training.yaml"]
    subprocess.run(["git", "-C", copy, "rm", "-rq", *taken], check=True)
    write(copy, {path: text for path, text in FILES.items() if ", " not in path})
    write(copy, {STACK: FILES[STACK] + SERVING})
    for command in (
        ["images", "listing", "deep-lab/models", "--checkout", models],
        ["workflows", "--write"],
        ["workflows", "--read-tests", models],
    ):
        subprocess.run([copy / "tidepool", *command], check=True)
    subprocess.run(["git", "-C", copy, "add", "."], check=True)
    done = subprocess.run([copy / "tidepool", "test"], check=False, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
