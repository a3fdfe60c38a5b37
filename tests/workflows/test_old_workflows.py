"""Every fault of the lab's old workflow files is found, and nothing that is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflows.linters import linted
from tests.workflows.old_workflows import CORPUS, KNOWN, faults, files
from workflows.checks import check
from workflows.read import WorkflowFile

# Each fault of the lab's files by the words that people know it by.
FAULTS = {
    "a workflow_run that names a workflow which does not exist": ("levanter-publish_dev.yaml", "upstream-exists"),
    "a condition that can never hold for the file's triggers": (
        "levanter-launch_small_fast.yaml",
        "condition-can-hold",
    ),
    "the conclusion of the run before is not tested": ("levanter-gpt2_small_itest.yaml", "conclusion-tested"),
    "a missing continuation that drops an argument": ("levanter-launch_small_fast.yaml", "line-continued"),
    "no time limit": ("levanter-run_tests.yaml", "job-ends"),
    "no concurrency": ("levanter-run_tests.yaml", "second-run-decided"),
    "no permissions": ("levanter-run_tests.yaml", "rights-said"),
    "a clean-up that is cancelled": ("levanter-tpu_unit_tests.yaml", "finishes-what-it-began"),
    "a child of an image that its parent does not push": ("levanter-docker-base-image.yaml", "parent-is-pushed"),
    "a cache that is saved and never read": ("levanter-docker-cluster-image.yaml", "cache-read"),
    "a folder that is cached and never used": ("levanter-docker-base-image.yaml", "cache-in-place"),
    "latest moves and no digest is kept": ("levanter-docker-cluster-image.yaml", "digest-kept"),
    "a push of some regions leaves them different": ("marin-build-docker-images.yaml", "regions-agree"),
    "a service account key": ("levanter-gpt2_small_itest.yaml", "no-account-key"),
    "an action by its tag": ("levanter-run_tests.yaml", "zizmor/unpinned-uses"),
    "a version set by sed wherever it matches": ("levanter-publish_dev.yaml", "one-version-set"),
    "a secret on a command line": ("marin-metrics.yaml", "secret-by-environment"),
    "a secret in a script": ("levanter-launch_small_fast.yaml", "secret-by-environment"),
    "a VM that outlives a cancelled run": ("levanter-tpu_unit_tests.yaml", "machine-deleted"),
    "tests that no job runs": ("marin-unit-tests.yaml", "test-runs-somewhere"),
    "a runner of ours that a fork can start": ("marin-unit-tests.yaml", "no-fork-on-our-runner"),
    "a fork guard that asks the base repository": ("marin-quickstart.yaml", "fork-of-the-head"),
    "an inner limit that is no shorter": ("marin-quickstart.yaml", "inner-limit-first"),
}


Found = tuple[str, str, str, int]
"""File, rule, job and line."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, ...]:
    """What the rules find, and actionlint and zizmor of theirs."""
    ours = ((each.file, each.rule, each.job, each.line) for each in check(files(), KNOWN))
    return (*ours, *_theirs(tmp_path_factory.mktemp("corpus")))


def _theirs(folder: Path) -> Iterator[Found]:
    told = linted({file.source: (CORPUS / file.source).read_text() for file in files()}, folder)
    for file in files():
        jobs = {file.positions["jobs", job].line: job for job in file.data["jobs"]}
        for rule, line in told[file.source]:
            yield file.source, rule, jobs[max(begins for begins in jobs if begins <= line)], line


def test_the_corpus_is_the_nineteen_files_of_the_lab() -> None:
    names = [file.source for file in files()]
    assert sum(name.startswith("levanter-") for name in names) == 11
    assert sum(name.startswith("marin-") for name in names) == 8
    assert len(names) == 19


@pytest.mark.parametrize("file", files(), ids=lambda file: file.source)
def test_what_is_found_of_a_file_is_what_is_declared_beside_it(file: WorkflowFile, found: tuple[Found, ...]) -> None:
    lines = (CORPUS / file.source).read_text().splitlines()
    told = Counter((rule, job, lines[line - 1].strip()[:60]) for name, rule, job, line in found if name == file.source)
    assert told == Counter((rule, job, line[:60]) for rule, job, line in faults(file))


@pytest.mark.parametrize("said", FAULTS)
def test_each_fault_that_people_know_is_found_in_the_file_that_has_it(said: str, found: tuple[Found, ...]) -> None:
    file, rule = FAULTS[said]
    assert any(each[:2] == (file, rule) for each in found)


def test_no_file_is_without_fault() -> None:
    assert all(faults(file) for file in files())
