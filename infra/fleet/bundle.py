"""The runner's shell files as one archive whose digest depends on their content alone.

Owns which files are in it, that two machines make the same bytes of them, and that nothing in it is unpinned. Leaves
where it is kept to `infra.fleet.publish`, and how a VM fetches it to `runner/stub.sh`, which alone is not in it.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.model.errors import ConfigError, Problem

RUNNER: Final = Path(__file__).resolve().parent / "runner"
STUB: Final = RUNNER / "stub.sh"

_FILES: Final = ("*.sh", "*.env", "*.service", "steps/*.sh")
_UNRESOLVED: Final = re.compile(r"^(\w+)_SHA256=unresolved$", re.MULTILINE)
# Deflate without compression: zlib's compressed bytes differ between its versions, stored blocks do not.
_GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_STORED_BLOCK: Final = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A gzipped tar archive and the SHA-256 of its bytes (hexadecimal)."""

    content: bytes
    sha256: str


def runner_bundle(root: Path = RUNNER) -> Bundle:
    """The bundle of the shell files below `root`: equal files, equal bytes, wherever and whenever it is made.

    Raises ConfigError where a download is not pinned: every VM would refuse it and take no job.
    """
    _insist_on_pins(root)
    content = _gzip(_tar(root))
    return Bundle(content=content, sha256=hashlib.sha256(content).hexdigest())


def _insist_on_pins(root: Path) -> None:
    rule = "a bundle is made of downloads whose checksum somebody vouches for"
    problems = [
        Problem(f"{path.name} {name}_SHA256", "unresolved", rule, "a SHA-256, and above it where it was read")
        for path in sorted(root.glob("*.env"))
        for name in _UNRESOLVED.findall(path.read_text(encoding="utf-8"))
    ]
    if problems:
        raise ConfigError(problems)


def _tar(root: Path) -> bytes:
    files = {path.relative_to(root).as_posix(): path for pattern in _FILES for path in root.glob(pattern)}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in sorted(files.items()):
            if path == root / STUB.name:
                continue
            content = path.read_bytes()
            # A fresh TarInfo carries no time, no owner and no mode of this machine's.
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _gzip(data: bytes) -> bytes:
    """RFC 1952 around stored blocks of RFC 1951: a final flag, the length, its complement, the bytes as they are."""
    blocks = [data[start : start + _STORED_BLOCK] for start in range(0, len(data), _STORED_BLOCK)]
    stored = b"".join(
        struct.pack("<BHH", block is blocks[-1], len(block), len(block) ^ _STORED_BLOCK) + block for block in blocks
    )
    return _GZIP_HEADER + stored + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
