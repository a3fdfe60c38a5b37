"""A file is written whole or not at all, whoever else writes it meanwhile."""

from __future__ import annotations

from pathlib import Path

from infra.tools.files import write_whole


def test_who_writes_a_file_that_another_writes_too_takes_nothing_of_theirs(tmp_path: Path) -> None:
    path = tmp_path / "record.json"

    class Met(str):
        """A text whose writing another one comes into."""

        __slots__ = ()

        def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
            write_whole(path, "theirs")
            assert path.read_text() == "theirs"
            return super().encode(encoding, errors)

    write_whole(path, Met("ours"))
    assert path.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "record.json", tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    path.symlink_to(elsewhere)
    write_whole(path, b"ours")
    assert (path.is_symlink(), path.read_bytes(), elsewhere.read_text()) == (False, b"ours", "theirs")


def test_a_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    write_whole(tmp_path / "key.pem", "key", mode=0o600)
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600
