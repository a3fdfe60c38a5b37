"""Findings of the scan that are accepted until a day, as the scanner takes them.

Owns which exceptions hold for an image on a day, and their spelling for grype, whose gate they are kept from. Leaves
the shape of an exception to spec. Source, read 2026-11-22: https://github.com/anchore/grype#specifying-matches-to-ignore
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from typing import Any

from infra.model.images.spec import ScanException


def holding(exceptions: Iterable[ScanException], image: str, today: date) -> tuple[ScanException, ...]:
    """Those that hold for the image today: the day of `expires` is the last one."""
    return tuple(each for each in exceptions if today <= each.expires and (not each.images or image in each.images))


def grype_config(exceptions: Iterable[ScanException], image: str, today: date) -> str:
    """The scanner's configuration, as JSON, which is YAML too."""
    return json.dumps({"ignore": [_rule(each) for each in holding(exceptions, image, today)]})


def _rule(exception: ScanException) -> dict[str, Any]:
    rule: dict[str, Any] = {"vulnerability": exception.finding, "reason": exception.reason}
    return rule | ({"package": {"name": exception.package}} if exception.package else {})
