"""What the tool, the pulumi CLI and Google's plugin asked of the local cloud is answered as it was when recorded.

tool: README's commands and the bench's own, on ci and nightly, by the embedded engine; training: a cluster and a job;
official: nightly by the pulumi CLI. A change of an answer that is meant is recorded anew (`bench.tests.recording`).
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from bench.tests.recording import replay

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.jsonl.xz"))


@pytest.mark.parametrize("file", RECORDED, ids=lambda path: path.name.partition(".")[0])
def test_recorded_requests_are_answered_as_they_were(file: Path) -> None:
    assert list(islice(replay(file), 3)) == []
