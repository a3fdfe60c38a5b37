"""The step that builds: what it makes of the layout that BuildKit leaves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from infra.model.images.told import told_text
from tests.model.given import ROOT

DOCKER = """#!/bin/sh
case "$*" in
  *dest=*)
    folder=${*##*dest=}
    folder=${folder%%,*}
    mkdir -p "$folder/blobs/sha256"
    printf '%s' "$INDEX" >"$folder/index.json"
    ;;
esac
"""


def built(workspace: Path, *digests: str) -> subprocess.CompletedProcess[str]:
    """The step, over a docker whose builds list these manifests."""
    docker = workspace / "tools/bin/docker"
    docker.parent.mkdir(parents=True)
    docker.write_text(DOCKER)
    docker.chmod(0o755)
    (workspace / "out").mkdir()
    (workspace / "out/sources").write_text(f"recipes owner/name {'a' * 40} 1795000000\n")
    index = ", ".join(f'{{"mediaType": "m", "digest": "{each}", "size": 2}}' for each in digests)
    told = {"IMAGE": "controller", "CONTEXT": "recipes", "ARGUMENTS": "", "PARENTS": "", "PLATFORMS": "linux/amd64"}
    (workspace / "out/told").mkdir()
    (workspace / "out/told/build").write_text(told_text({**told, "BUILDKIT": "b", "CACHE": "", "REGISTRIES": ""}))
    environ = {"STEP": "build", "WORKSPACE": str(workspace), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        ["sh", "images/steps/build.sh"], cwd=ROOT, env={**environ, "INDEX": f'{{"manifests": [{index}]}}'},
        check=False, capture_output=True, text=True,
    )  # fmt: skip


def test_the_digest_of_the_one_manifest_is_kept(tmp_path: Path) -> None:
    done = built(tmp_path, f"sha256:{'1' * 64}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/controller/digest").read_text() == f"sha256:{'1' * 64}\n"


@pytest.mark.parametrize("digests", [(), (f"sha256:{'1' * 64}", f"sha256:{'2' * 64}")], ids=["none", "two"])
def test_a_layout_without_exactly_one_manifest_is_refused(digests: tuple[str, ...], tmp_path: Path) -> None:
    done = built(tmp_path, *digests)
    assert done.returncode == 1
    assert "has not exactly one manifest" in done.stderr
    assert not (tmp_path / "out/controller/digest").exists()
