"""The certificate and the key of the local cloud on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cloud import tls


def test_key_is_for_the_owner_alone_and_stays(tmp_path: Path) -> None:
    _, authority = tls.context(tmp_path)
    key = (tmp_path / "tls.pem").read_text()
    assert (tmp_path / "tls.pem").stat().st_mode & 0o777 == 0o600
    assert tls.context(tmp_path)[1] == authority
    assert (tmp_path / "tls.pem").read_text() == key
    assert sorted(path.name for path in tmp_path.iterdir()) == ["authority.pem", "tls.pem"]


@pytest.mark.parametrize("lost", ["tls.pem", "authority.pem"])
def test_pair_is_made_again_where_one_of_them_is_missing(tmp_path: Path, lost: str) -> None:
    before = tls.context(tmp_path)[1]
    (tmp_path / lost).unlink()
    assert tls.context(tmp_path)[1] != before


def test_end_in_the_middle_of_a_write_leaves_no_half_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            tls.context(tmp_path)
    tls.context(tmp_path)
    assert "PRIVATE KEY" in (tmp_path / "tls.pem").read_text()
