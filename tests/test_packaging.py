"""The committed locks: complete, by hash, and free of any index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = ("", "-service", "-bench", "-charts", "-results", "-dev")
TOOL, SERVICE, BENCH, CHARTS, RESULTS, DEV = LOCKS = tuple(f"requirements{suffix}.lock" for suffix in SUFFIXES)


def pinned(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9][a-z0-9._-]*)==", (ROOT / lock).read_text(), re.MULTILINE))


def declared(names: list[str | dict[str, str]]) -> set[str]:
    """By name; of a group that another one includes, nothing."""
    own = (name for name in names if isinstance(name, str))
    return {re.split(r"[<>=!~\[; ]", name, maxsplit=1)[0].lower() for name in own}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash_and_no_index_is_named(lock: str) -> None:
    text = (ROOT / lock).read_text()
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text


def test_the_locks_hold_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    service = declared(project["project"]["dependencies"])
    assert service <= pinned(SERVICE)
    assert service | declared(project["project"]["optional-dependencies"]["tool"]) <= pinned(TOOL)
    assert declared(project["dependency-groups"]["bench"]) <= pinned(BENCH)
    assert declared(project["dependency-groups"]["charts"]) <= pinned(CHARTS)
    assert declared(project["dependency-groups"]["results"]) <= pinned(RESULTS)
    assert declared(project["dependency-groups"]["dev"]) <= pinned(DEV)
    assert declared(project["project"]["optional-dependencies"]["store"]) <= pinned(DEV)


def test_every_lock_has_the_versions_of_the_tools() -> None:
    versions = {
        lock: dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE))
        for lock in LOCKS
    }
    others = {
        (lock, name): version
        for lock in LOCKS
        for name, version in versions[lock].items()
        if versions[TOOL].get(name, version) != version
    }
    assert others == {}


def test_what_a_lock_adds_to_the_tools_it_alone_pins() -> None:
    """The service is part of the tool, the bench only what comes on top of it, and charts what comes on top of both;
    results what comes on top of the service."""
    assert pinned(SERVICE) < pinned(TOOL)
    assert pinned(BENCH) & pinned(TOOL) == set()
    assert pinned(CHARTS) & (pinned(TOOL) | pinned(BENCH)) == set()
    assert pinned(RESULTS) & pinned(SERVICE) == set()
    assert pinned(RESULTS) < pinned(CHARTS) | pinned(TOOL)


def test_the_tool_brings_the_pip_that_pulumis_python_host_asks_what_is_installed() -> None:
    assert "pip" in pinned(TOOL)
    assert "pip" not in pinned(SERVICE)


def test_no_two_test_modules_share_a_name() -> None:
    modules = [path.stem for path in (ROOT / "tests").rglob("*.py") if path.stem not in {"conftest", "__init__"}]
    assert sorted({name for name in modules if modules.count(name) > 1}) == []
