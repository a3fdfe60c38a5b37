"""Scalars of YAML as YAML 1.2 and the pulumi CLI read them, and those that YAML 1.1 takes differently."""

from __future__ import annotations

import re
from math import isinf
from typing import Any

import yaml
from yaml.resolver import Resolver

_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+")
# Numbers to one reader of YAML and text or other numbers to the next: 0o17, 017, 0x1f, 1_000, .inf, 1:30.
AMBIGUOUS = re.compile(
    r"[-+]?(0[0-9_]+|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9]+_[0-9_.]*|\.(inf|Inf|INF|nan|NaN|NAN)"
    r"|[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?)"
)
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMBER = re.compile(
    r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9_]+)([eE][-+]?[0-9]+)?"
    r"|[-+]?0([xX][0-9a-fA-F_]+|[oO][0-7_]+|[bB][01_]+)"
)
_MOST_DIGITS = 18
"""Of a whole number: what every reader keeps exactly."""
_LONGEST_NUMBER = 30
"""Characters of any other number: floats are written in 24."""
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
RESOLVER = Resolver()


def resolved(node: yaml.ScalarNode) -> str:
    """The tag that YAML 1.1 gives to a plain scalar."""
    return RESOLVER.resolve(yaml.ScalarNode, node.value, (True, False))


def is_out_of_range(text: str) -> bool:
    """Whether a number is too long, or too large, for readers of YAML to agree on it."""
    if _NUMBER.fullmatch(text) is None:
        return False
    most = _MOST_DIGITS if text.lstrip("+-").isdigit() else _LONGEST_NUMBER
    return len(text.lstrip("+-")) > most or (_FLOAT.fullmatch(text) is not None and isinf(float(text)))


def plain(text: str) -> str:
    """The plain decimal number that an ambiguous one was probably meant to be."""
    sign, digits = text[:1].strip("0123456789."), text.lstrip("+-").replace("_", "").lower()
    if digits.startswith((".i", ".n")) or ":" in digits:
        return "a plain number"
    if digits[1:2] in {"x", "o", "b"}:
        return f"{sign}{int(digits, 0)}"
    return f"{sign}{digits.lstrip('0') or '0'}"


def scalar(node: yaml.Node) -> Any:
    text: str = node.value
    if isinstance(node, yaml.ScalarNode) and node.style:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if is_out_of_range(text):
        return text
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
