"""Modules of a provider's SDK are loaded by the names that a program uses, and none is missing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from bench.engine import sdk_modules

FILES = {
    "__init__.py": "",
    "config/__init__.py": "loaded = True\n",
    "compute/__init__.py": "from .router_nat import *\nfrom .bucket_iam_member import *\nfrom ._inputs import *\n",
    "compute/router_nat.py": "from . import outputs\nclass RouterNat: ...\nclass RouterNatArgs: ...\n",
    "compute/bucket_iam_member.py": "class BucketIAMMember: ...\n",
    "compute/outputs.py": "class Range: ...\n",
    "compute/_inputs.py": "class RangeArgs: ...\n",
}


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The package `compute` of an SDK, loaded by name."""
    for name, text in FILES.items():
        path = tmp_path / "pulumi_made_up" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    sdk_modules.load_by_name("pulumi_made_up")
    yield importlib.import_module("pulumi_made_up.compute")
    for name in [name for name in sys.modules if name.startswith("pulumi_made_up")]:
        del sys.modules[name]


def loaded() -> set[str]:
    prefix = "pulumi_made_up.compute."
    return {name.removeprefix(prefix) for name in sys.modules if name.startswith(prefix)}


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("RouterNat", {"router_nat", "outputs"}),
        ("BucketIAMMember", {"bucket_iam_member"}),
        ("RangeArgs", {"_inputs"}),
        ("RouterNatArgs", {"router_nat", "outputs", "bucket_iam_member", "_inputs"}),
    ],
)
def test_a_name_loads_its_own_module_and_all_where_the_name_does_not_say_which(
    sdk: ModuleType, name: str, modules: set[str]
) -> None:
    assert loaded() == set()
    assert getattr(sdk, name).__name__ == name
    assert loaded() == modules
    assert getattr(sdk, name) is getattr(sdk, name)


def test_a_name_that_no_module_has_is_an_error(sdk: ModuleType) -> None:
    with pytest.raises(AttributeError, match="Rooter"):
        sdk.Rooter  # noqa: B018


def test_a_package_with_code_of_its_own_is_loaded_whole(sdk: ModuleType) -> None:
    assert importlib.import_module("pulumi_made_up.config").loaded
