"""The rule that keeps secret values out of what is declared: metadata, labels, environments, and any other input.

Owns which inputs and names tell a secret; by what form its value is told is `infra.model.secret_values`. Findings name
where it stands and never repeat it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from infra.model.secret_values import secrets_in
from infra.rules.finding import Level
from infra.rules.rule import Broken, ResourceContext, ResourceRule
from infra.rules.view import HIDDEN, ResourceView, is_known, texts

TELLING_NAME: Final = re.compile(
    r"(?:.*[-_.])?(?:password|passwd|secret|token|api[-_]?key|private[-_]?key|credentials?)", re.IGNORECASE
)
_REFERENCE: Final = re.compile(r"(?:projects/|gs://|sm://|https://secretmanager\.).*")
_SHORTEST: Final = 8
"""What is shorter is a switch, such as TRUE."""
_DEEPEST: Final = 16
"""Levels of inputs at which an environment is still looked for; the deepest of Cloud Run and Kubernetes is at seven."""
_OPEN: Final = ("metadata", "metadataStartupScript", "labels", "resourceLabels", "annotations", "description", "tags")
"""Inputs that anybody with a look at the resource can read."""
_VERSIONS: Final = (
    "gcp:secretmanager/secretVersion:SecretVersion",
    "gcp:secretmanager/regionalSecretVersion:RegionalSecretVersion",
)


def _no_secret(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    if view.type in _VERSIONS:
        yield Broken(view.subject, "it puts the value of a secret into the program and its state")
        return
    for path, text in texts(view.inputs):
        for what in secrets_in(text):
            yield Broken(view.subject, f"{path} holds {what}")
    for key in _OPEN:
        for path, text in texts(view.get(key), key):
            if text == HIDDEN:
                yield Broken(view.subject, f"{path} holds a value that Pulumi keeps as a secret, and so would show it")
    for name, path, value in _settings(view):
        if TELLING_NAME.fullmatch(name) and _is_value(value):
            yield Broken(view.subject, f"{path} is named like a secret and holds a value")


def _settings(view: ResourceView) -> Iterator[tuple[str, str, Any]]:
    """Name, path and value of each entry of metadata and of containers' environments."""
    for key, value in view.table("metadata").items():
        yield str(key), f"metadata.{key}", value
    yield from _environments(view.inputs)


def _environments(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            where = f"{path}.{key}" if path else str(key)
            if key in ("envs", "env") and isinstance(item, list):
                for entry in item:
                    if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
                        yield entry["name"], f"{where}.{entry['name']}", entry.get("value")
            else:
                yield from _environments(item, where, depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _environments(item, f"{path}[{index}]", depth + 1)


def _is_value(value: Any) -> bool:
    """Whether it can be a secret itself: known, long enough, and no name of where one is kept."""
    return (
        isinstance(value, str) and is_known(value) and len(value) >= _SHORTEST and _REFERENCE.match(value) is None
    ) or value == HIDDEN


RULES: Final = (
    ResourceRule(
        id="no-secret-in-metadata",
        level=Level.STOP,
        reason="Metadata, labels and environments are read by whoever sees the resource, and stand in the state.",
        fix="put the value into Secret Manager, declare its container under tidepool:secrets, and read it when needed",
        check=_no_secret,
    ),
)
