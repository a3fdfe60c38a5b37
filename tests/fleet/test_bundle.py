"""The start-up bundle: equal files, equal text, and what VMs of every age unpack."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.fleet.bundle import RUNNER, runner_bundle
from infra.model.errors import ConfigError


def unpacked(content: str, into: Path) -> dict[str, str]:
    """As the stub and the supervisor unpack it."""
    archive = into / "bundle"
    archive.write_bytes(content.encode())
    subprocess.run(["tar", "-xzf", archive, "-C", into], check=True)
    archive.unlink()
    return {each.relative_to(into).as_posix(): each.read_text() for each in into.rglob("*") if each.is_file()}


def test_equal_shell_files_are_equal_bundles_whenever_they_were_written(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "steps").mkdir(parents=True)
        for file in ("start.sh", "stub.sh", "steps/a.sh"):
            (tmp_path / name / file).write_text("echo\n")
    (tmp_path / "two" / "start.sh").touch()
    (tmp_path / "two" / "start.sh").chmod(0o700)
    (tmp_path / "two" / "stub.sh").write_text("the stub is not in the bundle\n")
    assert runner_bundle(tmp_path / "one") == runner_bundle(tmp_path / "two")


def test_the_bundle_is_text_that_tar_unpacks_as_gzip(tmp_path: Path) -> None:
    bundle = runner_bundle()
    assert bundle.content.isascii()
    assert hashlib.sha256(bundle.content.encode()).hexdigest() == bundle.sha256
    found = unpacked(bundle.content, tmp_path)
    assert found["start.sh"] == (RUNNER / "start.sh").read_text()
    assert "stub.sh" not in found
    assert (tmp_path / "start.sh").stat().st_mode & 0o111


@given(text=st.text(alphabet=st.characters(max_codepoint=127, exclude_characters="\r"), max_size=3000))
def test_whatever_the_files_say_the_bundle_is_text_that_gives_them_back(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    root = tmp_path_factory.mktemp("runner")
    (root / "start.sh").write_text(text, newline="")
    bundle = runner_bundle(root)
    assert bundle.content.isascii()
    assert unpacked(bundle.content, tmp_path_factory.mktemp("vm")) == {"start.sh": text}


def test_a_file_with_other_characters_is_refused_by_name_and_line(tmp_path: Path) -> None:
    (tmp_path / "start.sh").write_text("echo one\necho naïve\n")
    with pytest.raises(ConfigError, match=r"start.sh line 2"):
        runner_bundle(tmp_path)
