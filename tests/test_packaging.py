"""The committed locks: complete, by hash, and free of any index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("requirements.lock", "requirements-dev.lock")


def pinned(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9][a-z0-9._-]*)==", (ROOT / lock).read_text(), re.MULTILINE))


def declared(names: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", name, maxsplit=1)[0].lower() for name in names}


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
    assert declared(project["project"]["dependencies"]) <= pinned("requirements.lock")
    assert declared(project["dependency-groups"]["dev"]) <= pinned("requirements-dev.lock")


def test_both_groups_agree_on_every_version_they_share() -> None:
    versions = [dict(re.findall(r"^(\S+)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE)) for lock in LOCKS]
    shared = versions[0].keys() & versions[1].keys()
    assert {name for name in shared if versions[0][name] != versions[1][name]} == set()


def test_no_two_test_modules_share_a_name() -> None:
    modules = [path.stem for path in (ROOT / "tests").rglob("*.py") if path.stem not in {"conftest", "__init__"}]
    assert sorted({name for name in modules if modules.count(name) > 1}) == []
