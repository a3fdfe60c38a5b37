"""What comes back from a VM: files alone, below the folder alone, and a reason where they cannot."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from infra.fleet.runs import results
from infra.fleet.runs.results import ResultsError
from tests.fleet.runs.archives import packed


def unpacked(content: bytes, target: Path, *, below: Path) -> list[str]:
    """Of an archive that is the VM's own."""
    return results.unpacked(content, target, below=below, sha256=hashlib.sha256(content).hexdigest())


def test_an_archive_that_the_vm_did_not_write_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="the VM wrote others"):
        results.unpacked(packed(a="1"), tmp_path, below=tmp_path, sha256=hashlib.sha256(packed(a="2")).hexdigest())
    assert not list(tmp_path.iterdir())


def test_no_name_of_an_archive_leads_out_of_the_folder(tmp_path: Path) -> None:
    content = packed(**{"/etc/a": "x", "../b": "x", "source/../../c": "x", "source": "x", ".": "x", "out/d": "kept"})
    assert unpacked(content, tmp_path / "back", below=tmp_path) == ["back/out/d"]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["d"]


def test_a_link_that_is_there_already_leads_no_result_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "out").symlink_to(tmp_path / "keys")
    with pytest.raises(ResultsError, match=r"leads out of .* by a link; take another folder"):
        unpacked(packed(**{"out/authorized": "x"}), tmp_path / "back", below=tmp_path)
    assert not list((tmp_path / "keys").iterdir())


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    with pytest.raises(ResultsError):
        unpacked(packed(**{"out/a": "x" * 5000})[:60], tmp_path, below=tmp_path)
    with pytest.raises(ResultsError):
        unpacked(b"none", tmp_path, below=tmp_path)


def test_too_much_is_told_with_what_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_FILES", 2)
    monkeypatch.setattr(results, "MOST_RESULTS", 4)
    with pytest.raises(ResultsError, match="more than 2 files"):
        unpacked(packed(a="1", b="2", c="3"), tmp_path, below=tmp_path)
    with pytest.raises(ResultsError, match="more than 4 bytes"):
        unpacked(packed(a="12345"), tmp_path, below=tmp_path)
    assert unpacked(packed(a="12", b="34"), tmp_path, below=tmp_path) == ["a", "b"]


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            told = tarfile.TarInfo(f"out/{kind.decode()}")
            told.type, told.linkname = kind, "/etc/passwd"
            archive.addfile(told)
    assert unpacked(content.getvalue(), tmp_path, below=tmp_path) == []
    assert not list(tmp_path.rglob("*"))
