"""What all services do with the bodies they are sent: keep, merge, and read durations, bytes, checksums and labels.

Owns the rules of Google's JSON: values that mean "unset" are dropped, an update mask names what changes, a JSON merge
patch removes by null, durations are seconds with an `s`, CRC32C is base64 of its big-endian bytes (Cloud Storage) or a
decimal number as text (Secret Manager, KMS).
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import google_crc32c

from bench.cloud.differences import camel
from bench.cloud.errors import JsonObject, invalid

_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# cloud.google.com/resource-manager/docs/labels-overview#requirements, read 2026-11; letters may be of any script.
_LABEL = re.compile(r"(?!\d)[\w-]{1,63}=[\w-]{0,63}")
_UNSPECIFIED = re.compile(r"[A-Z_]+_UNSPECIFIED")
_MAPS = frozenset(
    {
        "annotations", "attributes", "cleanupPolicies", "headers", "labels", "maintenanceExclusions", "metadata",
        "resourceLabels", "substitutions", "sysctls", "versionAliases",
    }
)  # fmt: skip


def without_unset(body: JsonObject) -> JsonObject:
    """The body as a service keeps it: what means "unset" in proto JSON is the same as unsent.

    That is false, 0, empty text, empty lists, empty maps, and the first value of an enum (`MODE_UNSPECIFIED`).
    An empty object that is not a map stays, since its presence says something (`replication: {automatic: {}}`).
    """
    kept: JsonObject = {}
    for key, value in body.items():
        if isinstance(value, dict):
            inner = without_unset(value) if key not in _MAPS else _map_of(value)
            if inner or key not in _MAPS:
                kept[key] = inner
        elif isinstance(value, list):
            if value:
                kept[key] = [without_unset(item) if isinstance(item, dict) else item for item in value]
        elif value not in (None, False, 0, "") and not (isinstance(value, str) and _UNSPECIFIED.fullmatch(value)):
            kept[key] = value
    return kept


def _map_of(value: JsonObject) -> JsonObject:
    """Empty values of a map are values: a label may be empty."""
    return {key: without_unset(item) if isinstance(item, dict) else item for key, item in value.items()}


def mask_paths(mask: str | None) -> list[str]:
    """The paths of an update mask in camelCase; snake_case is taken as well, as Google does.

    Keys of maps stay as they are.
    """
    return [".".join(_camel(part.strip().split("."))) for part in (mask or "").split(",") if part.strip()]


def _camel(path: list[str]) -> list[str]:
    at = next((at + 1 for at, part in enumerate(path) if part in _MAPS), len(path))
    return [camel(part) for part in path[:at]] + path[at:]


def masked(current: JsonObject, sent: JsonObject, mask: str | None) -> JsonObject:
    """`current` with the paths of `mask` taken from `sent`; what the mask names and the body lacks is removed.

    No mask means every field sent; `*` means that `sent` replaces the whole. A path below a map (`labels.env`) touches
    that key alone. Body fields outside the mask are ignored, as the real provider relies on.
    """
    return without_unset(sent if mask == "*" else with_paths(current, sent, mask_paths(mask) or sent))


def with_paths(current: JsonObject, sent: JsonObject, paths: Iterable[str]) -> JsonObject:
    """`current` with these paths taken from `sent`; what `sent` lacks there is removed."""
    result = dict(current)
    for path in paths:
        _take(result, sent, _steps(path))
    return result


def _steps(path: str) -> list[str]:
    """The parts of a path; the key of a map is one part, dots and backticks and all."""
    head, _, key = path.partition(".")
    return [head, key.strip("`")] if head in _MAPS and key else path.split(".")


def _take(target: JsonObject, source: JsonObject, path: list[str]) -> None:
    head, *rest = path
    if rest:
        target[head] = dict(target.get(head) or {})
        _take(target[head], source.get(head) or {}, rest)
    elif source.get(head) is None:
        target.pop(head, None)
    else:
        target[head] = source[head]


def merged(current: Mapping[str, Any], patch: JsonObject) -> JsonObject:
    """A JSON merge patch (RFC 7396): null removes, objects merge, all else replaces."""
    result = dict(current)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            held = result.get(key)
            result[key] = merged(held if isinstance(held, dict) else {}, value)
        else:
            result[key] = value
    return result


def seconds(text: str) -> float:
    """A duration in seconds; `30d`, `12h`, `5m` are read as well as `2592000s`. Raises 400."""
    hit = _DURATION.fullmatch(text)
    if hit is None:
        raise invalid(f"Invalid duration '{text}': write a number of seconds with an s, such as 3600s.")
    return float(hit[1]) * _SECONDS[hit[2]]


def check_labels(labels: JsonObject) -> None:
    """Raises 400 for a key or a value outside the rules that all labels share."""
    for label in (f"{key}={value}" for key, value in labels.items()):
        if not _LABEL.fullmatch(label) or label != label.lower():
            raise invalid(
                f"Invalid label {label}: its key and value hold at most 63 lowercase letters, digits, underscores and "
                "dashes, and the key starts with a letter."
            )


def decoded(text: str) -> bytes:
    """The bytes of a field that `schema` has checked: base64 in either alphabet, with or without padding."""
    bare = text.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(bare + "=" * (-len(bare) % 4))


def crc32c(data: bytes) -> int:
    """The CRC32C of `data` as an unsigned number."""
    return google_crc32c.value(data)


def crc32c_base64(data: bytes) -> str:
    return base64.b64encode(crc32c(data).to_bytes(4, "big")).decode()


def md5_base64(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
