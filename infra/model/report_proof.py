"""The form of a report's proof: a token whose audience is the report's checksum, as the last key of its JSON text.

`infra/fleet/runner/supervisor/report.py` writes it. Does not own what is believed of a token (`infra.fleet.proofs`).
"""

from __future__ import annotations

import hashlib
from typing import Final

_AUDIENCE: Final = "tidepool-report:"
_MARK: Final = b',"proof":"'
_END: Final = b'"}'


def audience(report: bytes) -> str:
    """Of the token that proves a report, which has no proof yet."""
    return f"{_AUDIENCE}{hashlib.sha256(report).hexdigest()}"


def parted(content: bytes) -> tuple[bytes, str]:
    """A report without its proof, and the proof, empty where it has none."""
    head, mark, tail = content.strip().rpartition(_MARK)
    if not mark or not tail.endswith(_END):
        return content, ""
    return head + b"}", tail.removesuffix(_END).decode("ascii", "replace")
