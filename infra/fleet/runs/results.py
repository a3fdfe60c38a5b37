"""What comes back from a VM: files of an archive that a stranger's command had a hand in."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Final

MOST_RESULTS: Final = 1 << 30
"""Bytes of all results together, unpacked."""
MOST_FILES: Final = 20_000


class ResultsError(Exception):
    """Results that cannot be brought back; the text says why."""


def unpacked(packed: bytes, target: Path, *, below: Path, sha256: str) -> list[str]:
    """Files of a stranger's archive in a folder, by their paths below another; links and devices are left out.

    sha256: of the archive that the VM wrote. Paths of the tree lose the folder that the VM has it in. ResultsError for
    another archive, one that is damaged or too large, and where a link that is there already would lead a file out of
    the folder.
    """
    if hashlib.sha256(packed).hexdigest() != sha256:
        raise ResultsError("the VM wrote others")
    try:
        return sorted(_files(packed, target, below))
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError) as error:
        raise ResultsError(str(error)) from None


def _files(packed: bytes, target: Path, below: Path) -> list[str]:
    found, size, home = [], 0, target.resolve()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for number, member in enumerate(archive, 1):
            if number > MOST_FILES:
                raise ResultsError(f"they are more than {MOST_FILES} files; pack them, or name fewer")
            path = PurePosixPath(member.name)
            inside = path.relative_to("source") if path.is_relative_to("source") else path
            if not member.isfile() or path.is_absolute() or ".." in path.parts or not inside.parts:
                continue
            size += member.size
            if size > MOST_RESULTS:
                raise ResultsError(f"they have more than {MOST_RESULTS} bytes; name fewer")
            place = target / inside
            if not place.resolve().is_relative_to(home):
                raise ResultsError(f"{place} leads out of {target} by a link; take another folder")
            content = archive.extractfile(member)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.read() if content else b"")
            found.append(str(place.relative_to(below)))
    return found
