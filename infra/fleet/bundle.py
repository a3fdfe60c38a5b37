"""What runs on a runner's VM as one archive whose digest depends on their content alone.

Owns which files are in it, that two machines make the same text of them, and that nothing in it is unpinned. Leaves
where it is kept to the program, and how a VM fetches it to `runner/stub.sh`, which alone is not in it.

An object that the program declares holds text, and VMs unpack with `tar -xz`. Both fit a tar archive of 7-bit bytes,
stored without compression in a ZIP file of one member, which gzip unpacks too (`check_zipfile` in GNU gzip's unzip.c,
read 2026-11-22). Gzip's own format begins with bytes that are no text.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import tarfile
import zlib
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from infra.model.errors import ConfigError, Problem

RUNNER: Final = Path(__file__).resolve().parent / "runner"
STUB: Final = RUNNER / "stub.sh"

_FILES: Final = ("*.sh", "*.env", "*.service", "steps/*.sh", "machine/*.sh", "supervisor/*.py")
_UNRESOLVED: Final = re.compile(r"^(\w+)_SHA256=unresolved$", re.MULTILINE)
_BLOCK: Final = 512
_MEMBER: Final = b"bundle.tar"
_FIRST_DAY: Final = 0x21
"""1980-01-01, the first day that a ZIP file can name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """An archive that `tar -xz` unpacks, as 7-bit text, and the SHA-256 of its bytes (hexadecimal)."""

    content: str
    sha256: str


def runner_bundle(root: Path = RUNNER) -> Bundle:
    """The bundle of the files below `root`: equal files, equal bytes, wherever and whenever it is made.

    Raises ConfigError where a download is not pinned: every VM would refuse it and take no job; and where a file has
    other than 7-bit characters.
    """
    files = _files(root)
    _insist_on_pins(root)
    _insist_on_text(files)
    content = _stored(_tar(files))
    return Bundle(content=content.decode("ascii"), sha256=hashlib.sha256(content).hexdigest())


def _files(root: Path) -> dict[str, bytes]:
    found = {path.relative_to(root).as_posix(): path for pattern in _FILES for path in root.glob(pattern)}
    return {name: path.read_bytes() for name, path in sorted(found.items()) if path != root / STUB.name}


def _insist_on_pins(root: Path) -> None:
    rule = "the download has no checksum that somebody vouches for"
    problems = [
        Problem(f"{path.name} {name}_SHA256", "unresolved", rule, "a SHA-256, and above it where it was read")
        for path in sorted(root.glob("*.env"))
        for name in _UNRESOLVED.findall(path.read_text(encoding="utf-8"))
    ]
    if problems:
        raise ConfigError(problems)


def _insist_on_text(files: dict[str, bytes]) -> None:
    rule = "not 7-bit text, and an object of the program holds no other"
    problems = [
        Problem(f"{name} line {number}", line.decode("utf-8", "replace").strip(), rule, "the same in ASCII characters")
        for name, content in files.items()
        for number, line in enumerate(content.splitlines(), start=1)
        if not line.isascii()
    ]
    if problems:
        raise ConfigError(problems)


def _tar(files: dict[str, bytes]) -> bytes:
    """The archive without the zeros that fill its last record: each of them is six characters of the state."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            # A fresh TarInfo carries no time, no owner and no mode of this machine's.
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(entry, io.BytesIO(content))
        end = archive.offset
    return buffer.getvalue()[: end + 2 * _BLOCK]


def _stored(archive: bytes) -> bytes:
    """The archive in a ZIP file (PKWARE's APPNOTE, 4.3.7).

    The checksum and the lengths in its header are bytes as well: what stands after the archive's end, where tar reads
    no more, is counted up until they are 7-bit, which one number in sixteen gives.
    """
    size = next(size for size in count(len(archive) + _BLOCK, _BLOCK) if struct.pack("<I", size).isascii())
    padded = (archive + f"{number}\n".encode().ljust(size - len(archive), b"\n") for number in count())
    data = next(each for each in padded if _header(each).isascii())
    return _header(data) + _MEMBER + data


def _header(data: bytes) -> bytes:
    checksum, length = zlib.crc32(data), len(data)
    return struct.pack("<4s5H3I2H", b"PK\x03\x04", 10, 0, 0, 0, _FIRST_DAY, checksum, length, length, len(_MEMBER), 0)
