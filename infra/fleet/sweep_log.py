"""Sweeps as lines of a log: one JSON object each, as Cloud Logging takes them; and one sweep that is told so.

Owns what is asked for the lines beyond the sweep itself: the queue, images, and how old the app's key is. What cannot
be asked is left out of the lines, or said in one; it never fails a sweep. The lines are `infra.fleet.sweep_lines`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from infra.fleet.broker.settings import BUCKET, KEY_SECRET, PROJECT
from infra.fleet.controller.act import CALL_SECONDS
from infra.fleet.controller.sweep import NO_SWEEP, Swept
from infra.fleet.google import Clients, GoogleError, clients
from infra.fleet.place import Place, told_place
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
from infra.model.errors import ConfigError, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepLog:
    """The log of one stack's sweeps. key: the version of the app's key, None where none is told of.

    write: gets each line, without its end.
    """

    stack: str
    place: Place
    google: Clients
    key: str | None
    write: Callable[[str], None]

    @classmethod
    def told(
        cls, stack: str, place: Place, google: Clients, environ: Mapping[str, str], write: Callable[[str], None]
    ) -> Self:
        """The log as the environment has it: TIDEPOOL_GITHUB_KEY_SECRET names the version of the key."""
        return cls(stack=stack, place=place, google=google, key=environ.get(KEY_SECRET) or None, write=write)

    def swept(self, swept: Swept) -> None:
        repositories = {each for slot in swept.desired.slots for each in slot.serves}
        for line in swept_lines(swept, waiting_jobs(self.place.github, repositories)):
            self._print(line)
        try:
            # A stack that builds nothing has no such record.
            if self.place.builds:
                records = Records(google=self.google, bucket=self.place.bucket)
                for line in image_lines(records, self.stack, swept.at):
                    self._print(line)
        except (GoogleError, ConfigError) as error:
            self._print(unlooked_line(self.stack, str(error), swept.at))
        if self.key:
            try:
                self._print(key_line(self.google, self.stack, self.key, swept.at))
            except GoogleError as error:
                self._print(unkeyed_line(self.stack, str(error), swept.at))

    def unswept(self, reason: str) -> None:
        self._print(unswept_line(self.stack, reason, self.place.clock()))

    def _print(self, line: Line) -> None:
        self.write(json.dumps(line, separators=(",", ":")))


def logged_sweep(stack: str, environ: Mapping[str, str], write: Callable[[str], None]) -> Swept:
    """One sweep at the place that the environment names, told in lines.

    Raises ConfigError where it names none, GoogleError without credentials, and as `Sweeper.sweep` does.
    """
    place = told_place(stack, environ, stand_in=True)
    if place is None:
        missing = [name for name in (PROJECT, BUCKET) if not environ.get(name)]
        raise ConfigError(
            Problem(name, "", "the controller is told where its fleet is", "the stack's") for name in missing
        )
    with clients(place.project, place.endpoint, hurried=True, seconds=CALL_SECONDS) as google:
        log = SweepLog.told(stack, place, google, environ, write)
        try:
            swept = place.sweeper(stack, google).sweep()
        except NO_SWEEP as error:
            log.unswept(str(error))
            raise
        log.swept(swept)
        return swept
