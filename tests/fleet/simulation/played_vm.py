"""What one run of the simulated month is to do, and what its VM does: the words and files that the VM's program leaves.

They are objects below the run's prefix, as `infra.fleet.runs.guest` writes them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random

from infra.fleet.runner.supervisor.report import audience, sealed
from infra.fleet.runs.cloud import BucketObjects
from tests.fleet.runs.archives import packed

INSTALLS, TESTS = 285.0, 240.0
"""Seconds from READY to the first test, and of all tests: with its deletion a VM stands ten minutes."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One run. pull: number of the pull request whose label asks for it, None of a night. share: of the usual tests'
    time. befalls: what goes wrong, and of a zone's stockouts in how many zones."""

    run: str
    at: datetime
    pull: int | None = None
    share: float = 1.0
    coverage: float = 80.0
    flaky: bool = False
    befalls: str = ""
    zones: int = 0

    @property
    def seconds(self) -> float:
        """Of its tests."""
        return TESTS * self.share * Random(f"tests of {self.run}").lognormvariate(0.0, 0.02)

    def results(self) -> bytes:
        """What they leave, packed as a VM packs it."""
        failed = '<testcase classname="t" name="loose" time="1"><failure message="a port"/></testcase>'
        cases = "".join(
            f'<testcase classname="t" name="{name}" time="{self.seconds * share:.3f}"/>'
            for name, share in {"score": 0.7, "loose": 0.3}.items()
        )
        files = {
            "out/junit.xml": f"<testsuite>{failed if self.flaky else ''}{cases}</testsuite>",
            "out/coverage.xml": f'<coverage line-rate="{self.coverage / 100}"/>',
        }
        return packed(**files)


@dataclass
class PlayedVm:
    """A VM from READY on. token: of its identity, for an audience. prefix: of its objects. ends: when its tests do."""

    objects: BucketObjects
    token: Callable[[str], str]
    prefix: str
    planned: Planned
    began: float
    done: bool = False

    def __post_init__(self) -> None:
        self.ends = self.began + INSTALLS + self.planned.seconds
        self._say("running", None, self.began)

    def live(self, now: float) -> None:
        """Do what there was time for."""
        if not self.done and now >= self.ends:
            self.done = True
            results = self.planned.results()
            self.objects.put(f"{self.prefix}0/results.tar.gz", results)
            self._say("ended", 0, now, hashlib.sha256(results).hexdigest())

    def _say(self, phase: str, code: int | None, now: float, results: str = "") -> None:
        name = f"{self.prefix}0/status.json"
        said = {"version": 1, "object": name, "phase": phase, "code": code, "why": "", "at": int(now)}
        text = json.dumps({**said, "log": hashlib.sha256().hexdigest(), "results": results}, separators=(",", ":"))
        self.objects.put(name, sealed(text, self.token(audience(text))).encode())
