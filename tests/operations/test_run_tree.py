"""What of a folder is sent to a VM for one run."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from infra.operations.errors import Refusal
from infra.operations.run_on import packed


def sent(folder: Path) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(packed(folder))) as archive:
        return sorted(archive.getnames())


def filled(folder: Path) -> Path:
    for name, text in {".gitignore": "key\n", "key": "secret", "new": "x", "sub/a": "x"}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_what_git_ignores_is_not_sent(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(filled(tmp_path))], check=True)
    assert sent(tmp_path) == [".gitignore", "new", "sub/a"]
    assert sent(tmp_path / "sub") == ["a"]


def test_a_folder_outside_of_git_is_sent_whole(tmp_path: Path) -> None:
    assert sent(filled(tmp_path)) == [".gitignore", "key", "new", "sub/a"]


def test_nothing_is_sent_where_git_does_not_say_what_it_ignores(tmp_path: Path) -> None:
    (filled(tmp_path) / ".git").write_text("gitdir: nowhere\n")
    with pytest.raises(Refusal, match=r"git does not say what it tracks there .*--no-tree"):
        packed(tmp_path / "sub")
