"""What the kubeconfigs of KUBECONFIG say together: the first file that has a name, or a current context, wins.

Owns reading and merging them, as kubectl does
(https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig, 2026-09). The client library for
Python takes the last current context instead. Which cluster they mean is `kube`'s.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from infra.model.errors import ConfigError, Problem

_LISTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "clusters": ("cluster", ("certificate-authority",)),
    "contexts": ("context", ()),
    "users": ("user", ("client-certificate", "client-key", "tokenFile")),
}
"""What an entry of each list is called, and which of its values are files beside the kubeconfig."""


def kubeconfig_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Those of KUBECONFIG that are there, else the one of the home folder; none without any.

    Raises ConfigError where KUBECONFIG names files and none of them is there.
    """
    named = [Path(each) for each in environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    found = tuple(path for path in named or [Path.home() / ".kube" / "config"] if path.is_file())
    if named and not found:
        raise _no_kubeconfig(named[0], "there is no such file")
    return found


def merged(paths: Sequence[Path]) -> dict[str, Any]:
    """One kubeconfig of several. Raises ConfigError for a file that is none."""
    whole: dict[str, Any] = {name: [] for name in _LISTS}
    for path in paths:
        config = _read(path)
        for name in _LISTS:
            known = {each["name"] for each in whole[name]}
            whole[name] += [_placed(name, each, path) for each in config.get(name) or () if each["name"] not in known]
        if config.get("current-context"):
            whole.setdefault("current-context", config["current-context"])
    return whole


def _placed(name: str, entry: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """An entry whose files are found from anywhere."""
    key, files = _LISTS[name]
    inside = entry.get(key) or {}
    found = {each: str(path.absolute().parent / inside[each]) for each in files if inside.get(each)}
    return {**entry, key: {**inside, **found}}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, ValueError):
        raise _no_kubeconfig(path, "the file is not YAML") from None
    if not isinstance(found, dict):
        raise _no_kubeconfig(path, "the file is not a kubeconfig: a mapping of clusters, users and contexts")
    for name in _LISTS:
        entries = found.get(name) or []
        if not isinstance(entries, list) or not all(isinstance(each, dict) and "name" in each for each in entries):
            raise _no_kubeconfig(path, f"{name} is not a list of entries with a name each")
    return found


def _no_kubeconfig(path: Path, rule: str) -> ConfigError:
    fix = "KUBECONFIG=PATH of a kubeconfig, or unset it; gcloud container clusters get-credentials writes one"
    return ConfigError([Problem("the kubeconfig", str(path), rule, fix)])
