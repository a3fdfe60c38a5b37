"""A consumer's checkout with the lab's old files, and what a specification says of those that give way."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType

from workflows.composite import FOLDER, MARK
from workflows.read import read
from workflows.spec.model import Legacy, LegacyRuns, Old

CORPUS = Path(__file__).parent / "corpus"
UNTIL = date(2026, 12, 5)
REPLACED = {
    "levanter-run_tests.yaml": ("levanter-tests.yaml", LegacyRuns.BESIDE),
    "levanter-run_entry_tests.yaml": ("levanter-tests.yaml", LegacyRuns.BESIDE),
    "levanter-run_ray_tests.yaml": ("levanter-tests.yaml", LegacyRuns.BESIDE),
    "levanter-tpu_unit_tests.yaml": ("levanter-tests.yaml", LegacyRuns.BESIDE),
    "levanter-docker-base-image.yaml": ("docker-images.yaml", LegacyRuns.BY_HAND),
    "levanter-docker-cluster-image.yaml": ("docker-images.yaml", LegacyRuns.BY_HAND),
    "marin-build-docker-images.yaml": ("docker-images.yaml", LegacyRuns.BY_HAND),
    "levanter-publish_dev.yaml": ("levanter-publish_dev.yaml", LegacyRuns.BY_HAND),
    "marin-unit-tests.yaml": ("marin-unit-tests.yaml", LegacyRuns.BESIDE),
}


def path(file: str) -> str:
    return f"{FOLDER}/{file}"


@cache
def old_files() -> Mapping[str, str]:
    """Every old file of the lab, by its path."""
    texts = (each for each in sorted(CORPUS.glob("*.yaml")) if not each.name.endswith(".faults.yaml"))
    return MappingProxyType({path(each.name): each.read_text() for each in texts})


@cache
def _names() -> Mapping[str, str]:
    return {file: read(old_files()[path(file)], file).data["name"] for file in REPLACED}


def legacy(runs: Mapping[str, LegacyRuns] = {}) -> Legacy:
    """What the specification says; `runs` changes it for some of the files."""
    workflows = [
        Old(
            file=file,
            name=_names()[file],
            replaced_by=new,
            runs=runs.get(file, when),
        )
        for file, (new, when) in REPLACED.items()
    ]
    return Legacy(until=UNTIL, workflows=tuple(workflows))


def generated() -> dict[str, str]:
    """What takes the place of the old files, as far as a checkout sees it."""
    return {path(new): f"# {MARK} a specification.\nname: {new}\n" for new, _ in REPLACED.values()}
