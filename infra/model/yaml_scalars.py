"""Scalars of YAML as YAML 1.2 and the pulumi CLI read them, and those that YAML 1.1 takes differently."""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.resolver import Resolver

_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+")
# Numbers to one reader of YAML and text or other numbers to the next: 0o17, 017, 0x1f, 1_000, .inf, 1:30.
AMBIGUOUS = re.compile(
    r"[-+]?(0[0-9_]+|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9]+_[0-9_.]*|\.(inf|Inf|INF|nan|NaN|NAN)"
    r"|[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?)"
)
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
CORE_TAGS = "tag:yaml.org,2002:"
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
RESOLVER = Resolver()


def untagged(node: yaml.Node) -> str:
    """The tag that PyYAML gives this node where the file writes none."""
    if isinstance(node, yaml.ScalarNode) and node.style:
        return RESOLVER.DEFAULT_SCALAR_TAG
    return RESOLVER.resolve(type(node), node.value, (True, False))


def resolved(node: yaml.ScalarNode) -> str:
    """The tag that YAML 1.1 gives to a plain scalar."""
    return RESOLVER.resolve(yaml.ScalarNode, node.value, (True, False))


def plain(text: str) -> str:
    """The plain decimal number that an ambiguous one was probably meant to be."""
    sign, digits = text[:1].strip("0123456789."), text.lstrip("+-").replace("_", "").lower()
    if digits.startswith((".i", ".n")):
        return "a plain number"
    if ":" in digits:
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
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
