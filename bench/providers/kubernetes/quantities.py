"""Quantities of Kubernetes: `1000m` is 1, `8000M` is 8G. Where objects have them, and how the API server writes them.

Source: apimachinery, resource.Quantity (its canonical form), read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

AMOUNTS: Final = frozenset(
    ("limits", "requests", "hard", "capacity", "nominalQuota", "borrowingLimit", "lendingLimit", "sizeLimit")
)
"""Names below which values are quantities."""
_QUANTITY: Final = re.compile(r"([+-]?[0-9.]+)(m|[kKMGTPE]i?|[eE][+-]?\d+)?")
_DECIMAL: Final = ("m", "", "k", "M", "G", "T", "P", "E")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_FACTORS: Final = (
    {suffix: Decimal(1000) ** (at - 1) for at, suffix in enumerate(_DECIMAL)}
    | {suffix: Decimal(1024) ** at for at, suffix in enumerate(_BINARY) if suffix}
    | {"K": Decimal(1000)}
)


def amount(value: object) -> Decimal | None:
    """How much it is; None for what is no quantity."""
    match = _QUANTITY.fullmatch(str(value))
    if match is None or isinstance(value, bool) or match[1].count(".") > 1 or match[1].strip("+-") == ".":
        return None
    number, unit = match.groups(default="")
    if unit[:1] in ("e", "E") and len(unit) > 1:
        return Decimal(number) * Decimal(10) ** int(unit[1:])
    return Decimal(number) * _FACTORS[unit] if unit in _FACTORS else None


def canonical(value: Any) -> Any:
    """The same amount by the largest suffix that leaves a whole number; what is no quantity stays as it is."""
    found = amount(value)
    if found is None or re.search(r"[eE][+-]?\d", str(value)):
        return value
    if str(value).endswith("i") and abs(found) >= 1024:
        return _written(found, 1024, _BINARY) or value
    return _written(found * 1000, 1000, _DECIMAL) or value


def _written(mantissa: Decimal, base: int, suffixes: Iterable[str]) -> str:
    """Empty for less than the smallest unit can say."""
    if mantissa == 0:
        return "0"
    last = ""
    for suffix in suffixes:
        if mantissa != int(mantissa):
            break
        last = f"{int(mantissa)}{suffix}"
        mantissa /= base
    return last


def canonical_everywhere(body: Any) -> Any:
    """An object with the quantities of its tables (`limits`, `capacity`) in that form."""
    if isinstance(body, list):
        return [canonical_everywhere(each) for each in body]
    if not isinstance(body, Mapping):
        return body
    return {
        name: {unit: canonical(one) for unit, one in each.items()}
        if name in AMOUNTS and isinstance(each, Mapping)
        else canonical_everywhere(each)
        for name, each in body.items()
    }
