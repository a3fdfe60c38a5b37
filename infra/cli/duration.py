"""Lengths of time as people write them on a command line."""

from __future__ import annotations

import re
from typing import Any

import click

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Duration(click.ParamType):
    """`90s`, `15m`, `24h`, `2d`, or plain seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", str(value))
        if found is None:
            self.fail(f"{value!r} is no length of time; write 90s, 15m, 24h or 2d", param, ctx)
        return float(found[1]) * SECONDS[found[2] or "s"]
