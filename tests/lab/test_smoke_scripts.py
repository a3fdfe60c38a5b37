"""The smoke tests of images against a sandbox: a root of recorded commands in place of an image."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.builds.builders import smoke_text

pytestmark = pytest.mark.end_to_end

ROOT = Path(__file__).resolve().parents[2]
IMAGES = sorted(path.parent.name for path in (ROOT / "images").glob("*/Dockerfile"))
VERSIONS = {
    "python3": "Python 3.11.16", "uv": "uv 0.13.8", "node": "v24.19.0", "gcloud": "Google Cloud SDK 588.0.0",
    "python": "/opt/uv/environment",
}  # fmt: skip
EVERYWHERE = ("cat", "env", "mktemp", "rm", "test")
TOOLS = (
    "clang", "cmake", "curl", "g++", "gcc", "git", "gpg", "jq", "make", "npm", "npx", "pkg-config", "rsync", "screen",
    "ssh", "tmux", "unzip", "wget", "xz", "zip",
)  # fmt: skip
ABSENT = {
    "controller": ("gcc", "git", "uv"),
    "levanter-base": ("gcc",),
}


@dataclass
class Sandbox:
    """A folder of commands, all that a script finds; `said` is what it printed to standard error."""

    bin: Path
    files: Path
    said: list[str] = field(default_factory=list)

    def command(self, name: str, output: str = "", code: int = 0) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {code}\n")
        path.chmod(0o755)

    def run(self, image: str) -> int:
        script = smoke_text(image, ROOT / "images" / image / "smoke.sh")
        for folder in ("/opt/", "/usr/lib/", "/workspace"):
            script = script.replace(f" {folder}", f" {self.files}{folder}").replace(
                f'"{folder}', f'"{self.files}{folder}'
            )
        env = {
            "PATH": str(self.bin), "HOME": str(self.files), "UV_VERSION": "0.13.8", "NODE_VERSION": "24.19.0",
            "GITHUB_RUNNER_VERSION": "2.337.0", "UV_CACHE_DIR": f"{self.files}/opt/uv/cache",
            "UV_PROJECT_ENVIRONMENT": f"{self.files}/opt/uv/environment",
        }  # fmt: skip
        done = subprocess.run(
            ["/bin/bash", "-s"], input=script, env=env, cwd=self.files, check=False, capture_output=True, text=True
        )
        self.said = [line for line in done.stderr.splitlines() if line.startswith("smoke test")]
        return done.returncode


def sandbox(folder: Path, image: str) -> Sandbox:
    """What the image should be."""
    made = Sandbox(bin=folder / "bin", files=folder / "root")
    made.bin.mkdir()
    for name in EVERYWHERE:
        (made.bin / name).symlink_to(f"/usr/bin/{name}")
    made.command("id", "1000")
    for name in TOOLS:
        if name not in ABSENT.get(image, ()):
            made.command(name)
    for name, output in VERSIONS.items():
        if name not in ABSENT.get(image, ()):
            made.command(name, output.replace("/opt/", f"{made.files}/opt/"))
    for name in (
        "opt/actions-runner/bin",
        "opt/marin",
        "opt/monorepo",
        "opt/tidepool/infra/fleet/controller",
        "opt/uv/cache",
        "workspace",
    ):
        (made.files / name).mkdir(parents=True)
    (made.files / "opt/uv/environment").mkdir()
    (made.files / "opt/tidepool/infra/__pycache__").mkdir(parents=True)
    for name in (
        "pyproject.toml",
        "opt/tidepool/infra/fleet/controller/rules.yaml",
        "usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
    ):
        (made.files / name).parent.mkdir(parents=True, exist_ok=True)
        (made.files / name).write_text("there\n")
    for name, output in (("run.sh", ""), ("bin/Runner.Listener", "2.337.0")):
        path = made.files / "opt/actions-runner" / name
        path.write_text(f"#!/bin/sh\necho {output}\n")
        path.chmod(0o755)
    return made


# As root everything may be written, and the controller's test that its code may not be cannot hold.
ROOT_ONLY = {"smoke test of controller failed: cannot write its own code"} if os.geteuid() == 0 else set()
# The environments that tpu-ci's test makes out of the cache are real ones; the sandbox's uv makes none.
MADE_BY_UV = "the test dependencies of"


def complaints(box: Sandbox) -> list[str]:
    return [line for line in box.said if line not in ROOT_ONLY and MADE_BY_UV not in line]


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_as_it_should_be_passes_and_one_that_runs_as_root_fails(image: str, tmp_path: Path) -> None:
    box = sandbox(tmp_path, image)
    box.run(image)
    assert complaints(box) == []
    box.command("id", "0")
    assert box.run(image) != 0
    assert complaints(box) == [f"smoke test of {image} failed: runs as uid 1000, gid 1000"]


@pytest.mark.parametrize(
    ("image", "path", "said"),
    [
        ("tpu-ci", "opt/actions-runner/run.sh", "starts: "),
        ("controller", "opt/tidepool/infra/fleet/controller/rules.yaml", "has the rules of the controller"),
        ("levanter-incremental", "pyproject.toml", "works in levanter's folder"),
        ("cluster", "usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "has jemalloc"),
        ("levanter-cluster", "usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "has jemalloc"),
    ],
)
def test_a_missing_start_up_path_is_said(image: str, path: str, said: str, tmp_path: Path) -> None:
    box = sandbox(tmp_path, image)
    (box.files / path).unlink()
    assert box.run(image) != 0
    assert [line for line in complaints(box) if said in line]


def test_the_controller_fails_with_anything_beside_the_service(tmp_path: Path) -> None:
    box = sandbox(tmp_path, "controller")
    (box.files / "opt/tidepool/bench").mkdir()
    (box.files / "opt/tidepool/environment/lib/python3.11/site-packages/pulumi_gcp").mkdir(parents=True)
    box.command("pytest")
    assert box.run("controller") != 0
    assert [line.partition("failed: ")[2] for line in complaints(box)] == [
        "holds the fleet service and not bench",
        "has no development tool: pytest",
        "has no package of the tool: pulumi_gcp",
    ]
