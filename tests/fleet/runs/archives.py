"""Archives as a VM of a run leaves them."""

from __future__ import annotations

import io
import tarfile


def packed(**files: str) -> bytes:
    """A `tar.gz` of these texts, by name."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as made:
        for name, text in files.items():
            told = tarfile.TarInfo(name)
            told.size = len(text)
            made.addfile(told, io.BytesIO(text.encode()))
    return content.getvalue()
