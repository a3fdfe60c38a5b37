"""An estate to look at, on a local cloud of its own: the committed stacks, applied, swept and used a little.

For pictures and for the tests that need a browser. Results are made up (`sample_results`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from infra.operations.workspace import RESULTS
from infra.results.store import Folder, ResultStore
from tests.pages.sample_results import sample_runs

ROOT: Final = Path(__file__).resolve().parents[2]
_ZONE: Final = "        us-west4-a: 2\n"
_WORK: Final = (
    ("reconcile", "ci", "--until-settled"),
    ("cloud", "job", "queue", "marin-community/marin", "self-hosted", "tpu-ci", "--for", "9h"),
    ("cloud", "job", "queue", "marin-community/marin", "self-hosted", "tpu-v4", "--for", "9h"),
    ("cloud", "job", "queue", "marin-community/marin", "self-hosted", "tpu-v4", "--for", "9h"),
    ("cloud", "clock", "--advance", "40m"),
    ("cloud", "fail", "stockout", "--zone", "europe-west4-a"),
    ("cloud", "preempt", "tpu-v6e-europe-west4-a-0"),
    ("reconcile", "ci"),
    ("reconcile", "nightly"),
)


def environ(home: Path) -> dict[str, str]:
    """Of commands on the sample's stack files."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    folders = {"TIDEPOOL_HOME": home, "TIDEPOOL_ROOT": home / "checkout", RESULTS: home / "results", "PYTHONPATH": ROOT}
    return kept | {name: str(folder) for name, folder in folders.items()}


def command(home: Path, *words: str) -> str:
    """What a command on the sample prints; CalledProcessError where it fails."""
    run = [sys.executable, "-m", "infra.cli", *words]
    return subprocess.run(run, env=environ(home), cwd=ROOT, check=True, capture_output=True, text=True).stdout


def make(home: Path) -> None:
    """Bring up the stacks, edit one number and apply that, and let some jobs wait and one VM be gone."""
    lend(home / "checkout")
    for stack in ("ci", "nightly", "training"):
        command(home, "up", stack, "--cloud", "local")
    file = home / "checkout" / "stacks" / "Pulumi.ci.yaml"
    file.write_text(file.read_text().replace(_ZONE, _ZONE.replace("2", "3")))
    command(home, "up", "ci", "--cloud", "local")
    for words in _WORK:
        command(home, *words)
    store = ResultStore(Folder(home / "results"))
    for runs in sample_runs().values():
        for run in runs:
            store.keep(run)


def lend(root: Path) -> None:
    """The parts of this checkout that commands read, in a repository with one commit."""
    root.mkdir(parents=True)
    for name in ("stacks", "workflows", "images"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("actions", "infra", "LICENSE", "Pulumi.yaml", "requirements-service.lock"):
        (root / name).symlink_to(ROOT / name)
    who = ("-c", "user.name=lab", "-c", "user.email=lab@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "The lab")):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
