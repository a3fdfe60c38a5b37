"""Sweeps as lines of a log on stdout: `./tidepool reconcile STACK --log json`, which is how Cloud Run runs it.

Owns what is asked for the lines beyond the sweep itself: the queue, images, and how old the app's key is. What cannot
be asked is left out of the lines, or said in one; it never fails a sweep. The lines are `infra.fleet.sweep_lines`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from infra.cli.echo import echo
from infra.fleet.broker.settings import KEY_SECRET
from infra.fleet.controller.sweep import Swept
from infra.fleet.google import Clients, GoogleError
from infra.fleet.records import Records
from infra.fleet.status.queue import waiting_jobs
from infra.fleet.sweep_lines import (
    Line,
    image_lines,
    key_line,
    swept_lines,
    unkeyed_line,
    unlooked_line,
    unswept_line,
)
from infra.model.errors import ConfigError
from infra.operations.fleet.place import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepLog:
    """The log of one stack's sweeps. records: its fleet bucket.

    Where TIDEPOOL_GITHUB_KEY_SECRET names no version, no key is told of.
    """

    stack: str
    place: Place
    google: Clients
    records: Records

    def swept(self, swept: Swept) -> None:
        repositories = {each for slot in swept.desired.slots for each in slot.serves}
        for line in swept_lines(swept, waiting_jobs(self.place.github, repositories)):
            _print(line)
        try:
            for line in image_lines(self.records, self.stack, swept.at):
                _print(line)
        except (GoogleError, ConfigError) as error:
            _print(unlooked_line(self.stack, str(error), swept.at))
        if version := os.environ.get(KEY_SECRET):
            try:
                _print(key_line(self.google, self.stack, version, swept.at))
            except GoogleError as error:
                _print(unkeyed_line(self.stack, str(error), swept.at))

    def unswept(self, reason: str) -> None:
        _print(unswept_line(self.stack, reason, self.place.clock()))


def _print(line: Line) -> None:
    echo(json.dumps(line, separators=(",", ":")))
