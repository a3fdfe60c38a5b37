"""What a broker must be told, by environment variables; nothing of it is a secret.

Owns their names, checks and defaults. Every address may be another than Google's and GitHub's own, which is how the
same broker serves the local cloud.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from infra.fleet.broker.identity import GOOGLE_KEYS, LOCAL_KEYS
from infra.model.errors import ConfigError, Problem
from infra.model.names import GITHUB

AUDIENCE: Final = "TIDEPOOL_BROKER_AUDIENCE"
PROJECT: Final = "TIDEPOOL_PROJECT"
BUCKET: Final = "TIDEPOOL_BUCKET"
APP: Final = "TIDEPOOL_GITHUB_APP"
INSTALLATION: Final = "TIDEPOOL_GITHUB_INSTALLATION"
KEY_SECRET: Final = "TIDEPOOL_GITHUB_KEY_SECRET"  # noqa: S105 - a name
GROUPS: Final = "TIDEPOOL_GITHUB_GROUPS"
GITHUB_API: Final = "TIDEPOOL_GITHUB_API"
GOOGLE_ENDPOINT: Final = "TIDEPOOL_GOOGLE_ENDPOINT"
KEYS_URL: Final = "TIDEPOOL_GOOGLE_KEYS"

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,18}")
_VERSION: Final = re.compile(r"projects/[a-z0-9-]+/secrets/[A-Za-z0-9_-]+/versions/(latest|[1-9][0-9]*)")
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """One broker. groups: runner group by trust; empty where runners are a repository's own.

    google_endpoint: root that takes the place of Google's APIs, None for Google itself.
    """

    stack: str
    audience: str
    project: str
    bucket: str
    app: str
    installation: str
    key_secret: str
    groups: Mapping[str, str]
    github_api: str = GITHUB
    google_endpoint: str | None = None
    keys_url: str = GOOGLE_KEYS


def read(stack: str, environ: Mapping[str, str]) -> BrokerSettings:
    """The settings of a stack's broker. Raises ConfigError with all that is wrong with them."""
    problems: list[Problem] = []

    def text(name: str, rule: str, fix: str, pattern: str | re.Pattern[str] = r".+") -> str:
        value = environ.get(name, "")
        if not re.fullmatch(pattern, value):
            problems.append(Problem(name, value, rule, fix))
        return value

    def address(name: str, default: str | None) -> str | None:
        value = environ.get(name) or default
        if value is None or is_safe(value):
            return value
        problems.append(Problem(name, value, "neither https nor on this machine", "https://..."))
        return None

    audience = address(AUDIENCE, None)
    if not environ.get(AUDIENCE):
        problems.append(
            Problem(
                AUDIENCE,
                "",
                "the broker's own URL is not set, for which tokens are made",
                "the URL by which VMs reach the broker",
            )
        )
    number = "GitHub's number, as its page shows it"
    found = {
        "project": text(PROJECT, "a Google Cloud project is needed", "the stack's project"),
        "bucket": text(BUCKET, "a bucket of fleet records is needed", "the stack's bucket"),
        "app": text(APP, "a GitHub App is needed", number, _NUMBER),
        "installation": text(INSTALLATION, "an installation of the app is needed", number, _NUMBER),
        "key_secret": text(
            KEY_SECRET, "the app's key is a version in Secret Manager", "projects/P/secrets/S/versions/latest", _VERSION
        ),
    }
    groups = _groups(environ.get(GROUPS, ""), problems)
    endpoint, api = address(GOOGLE_ENDPOINT, None), address(GITHUB_API, GITHUB)
    keys = address(KEYS_URL, f"{endpoint.rstrip('/')}{LOCAL_KEYS}" if endpoint else GOOGLE_KEYS)
    if problems:
        raise ConfigError(problems)
    return BrokerSettings(
        stack=stack,
        audience=audience or "",
        groups=groups,
        github_api=api or GITHUB,
        google_endpoint=endpoint,
        keys_url=keys or GOOGLE_KEYS,
        **found,
    )


def _groups(value: str, problems: list[Problem]) -> Mapping[str, str]:
    try:
        found: Any = json.loads(value or "{}")
    except ValueError:
        found = None
    if isinstance(found, dict) and all(isinstance(group, str) and group for group in found.values()):
        return found
    rule = "not a JSON object of runner groups by trust"
    problems.append(Problem(GROUPS, value, rule, '{"member": "tpu-member"}, or nothing for runners of a repository'))
    return {}


def is_safe(address: str) -> bool:
    """https, so that nobody on the way reads or answers; plain http within this machine alone."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    if parts.username or parts.query or parts.fragment or not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
