"""Quantities of Kubernetes: `1000m` is 1, `8000M` is 8G. Where objects have them, and how the API server writes them.

Source: apimachinery, resource.Quantity (its canonical form), read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

AMOUNTS: Final = frozenset(
    ("limits", "requests", "hard", "capacity", "nominalQuota", "borrowingLimit", "lendingLimit", "sizeLimit")
)
"""Names below which values are quantities."""
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?)(m|[kMGTPE]?|[KMGTPE]i)")
_DECIMAL: Final = ("m", "", "k", "M", "G", "T", "P", "E")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def canonical(value: Any) -> Any:
    """The same amount by the largest suffix that leaves a whole number; what is no quantity stays as it is."""
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        return value
    base, suffixes = (1024, _BINARY) if found[2].endswith("i") else (1000, _DECIMAL)
    mantissa = Decimal(found[1]) * base ** suffixes.index(found[2])
    if not mantissa:
        return "0"
    for suffix in suffixes:
        if mantissa % 1:
            break
        value, mantissa = f"{int(mantissa)}{suffix}", mantissa / base
    return value


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
