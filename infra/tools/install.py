"""Builds the pinned Go tools into `.venv/bin`, where Go is on this machine; each once a change of `go.sum`.

Owns which tools there are, the stamps beside them and the order of looking for one. The versions are those of go.mod,
whose modules Go checks against go.sum.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

MODULE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent

PACKAGES = {
    "act": "github.com/nektos/act",
    "actionlint": "github.com/rhysd/actionlint/cmd/actionlint",
    "crane": "github.com/google/go-containerregistry/cmd/crane",
    "vale": "github.com/vale-cli/vale/v3/cmd/vale",
}
CONTROL_PLANE = {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
}
"""What the live tier runs; eight minutes to build on two processors, and half a gigabyte."""


class ToolError(Exception):
    """A tool could not be had; the text says what to do."""


def find(name: str) -> Path | None:
    """Where the tool is: built here from the present go.sum, else whatever PATH has. None where neither is."""
    if _is_current(name):
        return BIN / name
    found = shutil.which(name)
    return Path(found) if found else None


def need(name: str) -> Path:
    """Where the tool is, built now if it has to be; ToolError where this machine cannot build it."""
    if not _is_current(name):
        if shutil.which("go") is None:
            found = find(name)
            if found is None:
                raise ToolError(
                    f"{name} is not on this machine, nor is Go to build it: install Go (https://go.dev/dl/)"
                )
            return found
        _build(name)
    return BIN / name


def build(names: Iterable[str]) -> list[str]:
    """Build those that are not current, where Go is here; what could not be built, each with the reason."""
    if shutil.which("go") is None:
        return []
    failures = []
    for name in names:
        try:
            need(name)
        except ToolError as error:
            failures.append(str(error))
    return failures


def _build(name: str) -> None:
    with tempfile.TemporaryDirectory(dir=BIN, prefix=f".{name}-") as folder:
        built = Path(folder) / name
        package = (PACKAGES | CONTROL_PLANE)[name]
        done = subprocess.run(
            ["go", "build", "-trimpath", f"-ldflags={_linked(name)}", "-o", str(built), package],
            cwd=_module(name), check=False, capture_output=True, text=True,
            env={**os.environ, "GOFLAGS": "-mod=readonly"},
        )  # fmt: skip
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or ["go says nothing"]
            raise ToolError(
                f"{name} could not be built from {_module(name).relative_to(MODULE.parents[1])}: {said[-1]}"
            )
        built.replace(BIN / name)
    _stamp(name).write_text(_pins(name))


def _is_current(name: str) -> bool:
    stamp = _stamp(name)
    return (BIN / name).is_file() and stamp.is_file() and stamp.read_text() == _pins(name)


def _stamp(name: str) -> Path:
    return BIN / f".{name}.go-stamp"


def _module(name: str) -> Path:
    """The folder of a tool's go.mod. Kubernetes replaces parts of itself and vale shares no package with the others, so
    each has its own module."""
    own = MODULE / ("kubernetes" if name in CONTROL_PLANE else name)
    return own if own.is_dir() else MODULE


def _linked(name: str) -> str:
    """What the linker is told. Kubernetes knows its version by this alone, and Kueue refuses a server without one."""
    if name not in CONTROL_PLANE:
        return ""
    version = re.search(r"\bk8s\.io/kubernetes (v\S+)", (_module(name) / "go.mod").read_text())
    return f"-X k8s.io/component-base/version.gitVersion={version[1]}" if version else ""


def _pins(name: str) -> str:
    module = _module(name)
    pinned = (module / "go.mod").read_bytes() + (module / "go.sum").read_bytes() + _linked(name).encode()
    return hashlib.sha256(pinned).hexdigest()
