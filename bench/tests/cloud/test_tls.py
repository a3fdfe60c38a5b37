"""The certificate and the key of the local cloud on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cloud import tls


def test_key_is_for_the_owner_alone_and_stays(tmp_path: Path) -> None:
    _, authority = tls.context(tmp_path)
    assert "PRIVATE" not in authority
    assert (tmp_path / "tls.pem").stat().st_mode & 0o777 == 0o600
    assert tls.context(tmp_path)[1] == authority


def test_end_in_the_middle_of_a_write_leaves_no_half_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            tls.context(tmp_path)
    tls.context(tmp_path)
    assert "PRIVATE KEY" in (tmp_path / "tls.pem").read_text()
