"""What a rule found: which rule, where, why it matters there and what to write instead."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One fault of one file; `job` is empty for what concerns the whole file. Sorted by file, then line."""

    file: str
    line: int
    rule: str
    job: str
    reason: str
    fix: str

    def __str__(self) -> str:
        where = f" job {self.job}" if self.job else ""
        return f"{self.file}:{self.line}{where} [{self.rule}]\n  {self.reason}\n  write: {self.fix}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
