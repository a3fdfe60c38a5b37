"""Kubernetes quantities (`500m`, `16Gi`) as numbers."""

from __future__ import annotations

import re
from typing import Final

_FACTORS: Final = {
    "": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip
_FORM: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([mkMGTP]|[KMGTP]i)?")


def quantity(value: str | float) -> float:
    """The number that a quantity means: bytes of memory, cores of a CPU, chips. ValueError where it is none.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity (2026-09)
    """
    found = _FORM.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{value!r} is not a quantity; write 4, 500m or 16Gi")
    return float(found[1]) * _FACTORS[found[2] or ""]
