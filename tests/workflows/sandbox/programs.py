"""Programs on a path that record how they are called, and what a test has them answer."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAMES = (
    "curl", "crane", "date", "docker", "gcloud", "gh", "git", "grype", "iptables", "node", "npm", "npx", "pip",
    "pulumi", "sh", "sleep", "ssh", "sudo", "syft", "timeout", "uv", "uvx", "wget",
)  # fmt: skip
"""What stands in. All else of /usr/bin and /bin is itself; `sh` is recorded as a program, and as a step's shell not."""
START = 1_800_000_000
"""What the clock of `date` and `sleep` shows at first, as `standin.sh` has it."""
_STAND_IN = Path(__file__).with_name("standin.sh")


@dataclass(frozen=True)
class Call:
    """One call: the program and its arguments."""

    program: str
    argv: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return (self.program, *self.argv)

    def __str__(self) -> str:
        return shlex.join(self.words)


class Programs:
    """Stand-ins in a folder; their calls in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "path"
        self.path.mkdir(parents=True)
        for name in NAMES:
            self.stand_in(self.path / name, name)
        self._answers: list[tuple[str, str]] = []

    def stand_in(self, path: Path, program: str) -> None:
        """A stand-in at that place."""
        path.parent.mkdir(parents=True, exist_ok=True)
        words = shlex.join([str(_STAND_IN), str(self.folder), program])
        path.write_text(f'#!/bin/bash\n. {words} "$@"\n')
        path.chmod(0o755)

    def answer(
        self, program: str, words: str = "", *, out: str = "", err: str = "", code: int = 0, effect: str = ""
    ) -> None:
        """What a program does where its arguments, with spaces between, fit the pattern (of bash): the last answer that
        was said comes first.

        effect: shell that is run for real.
        """
        self._answers.insert(0, (program, shlex.join(["fits", words, out, err, str(code), effect])))
        said = [line for whose, line in self._answers if whose == program]
        (self.folder / f"answers-{program}").write_text("\n".join(said) + "\n")

    def hurry(self, times: int) -> None:
        """Every sleep moves the clock by so many times as much: fewer turns of what waits for hours."""
        (self.folder / "pace").write_text(str(times))

    def mark(self) -> int:
        """A place in the list of calls, for `calls`."""
        written = self.folder / "calls"
        return written.stat().st_size if written.is_file() else 0

    def calls(self, since: int = 0) -> list[Call]:
        """In order; those after a mark."""
        written = self.folder / "calls"
        words = iter(written.read_bytes()[since:].decode().split("\0")[:-1] if written.is_file() else ())
        return list(_calls(words))


def _calls(words: Iterator[str]) -> Iterator[Call]:
    """The program, how many arguments, and those; one call after the other."""
    for program in words:
        yield Call(program, tuple(next(words) for _ in range(int(next(words)))))
