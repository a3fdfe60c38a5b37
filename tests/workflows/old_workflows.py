"""The lab's old workflow files, the faults that each carries, and what is known of the repository around them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from workflows.checks import Known, Pool, TestCase
from workflows.read import WorkflowFile, read_file

CORPUS = Path(__file__).parent / "corpus"
_FAULTS = ".faults.yaml"
_BASE = "ghcr.io/stanford-crfm/levanter-base:latest"

KNOWN = Known(
    repository="marin-community/marin",
    pools=(Pool("tpu-ci", frozenset(("self-hosted", "tpu", "tpu-ci"))),),
    dockerfiles={
        "lib/levanter/docker/tpu/Dockerfile.base": ("python:3.11-slim-bookworm",),
        "lib/levanter/docker/tpu/Dockerfile.incremental": (_BASE,),
        "lib/levanter/docker/tpu/Dockerfile.cluster": (_BASE,),
        "docker/marin/Dockerfile.cluster": ("rayproject/ray:2.45.0-py311-cpu",),
    },
    tests=(
        TestCase("lib/levanter/tests/test_attention.py"),
        TestCase("lib/levanter/tests/test_convergence.py", frozenset(("slow",))),
        TestCase("lib/levanter/tests/test_ray_utils.py", frozenset(("ray",))),
        TestCase("lib/levanter/tests/test_train_lm.py", frozenset(("entry",))),
        TestCase("tests/test_dedup.py"),
        TestCase("tests/test_tokenize.py", frozenset(("slow",))),
        TestCase("tests/tpu/test_kernels.py", frozenset(("tpu_ci",))),
    ),
)


@cache
def files() -> tuple[WorkflowFile, ...]:
    return tuple(read_file(path, CORPUS) for path in sorted(CORPUS.glob("*.yaml")) if not path.name.endswith(_FAULTS))


def faults(file: WorkflowFile) -> tuple[tuple[str, str, str], ...]:
    """(rule, job, what stands on the line) of each fault that is declared beside a file."""
    declared = CORPUS / (Path(file.source).stem + _FAULTS)
    return tuple((rule, job, line) for rule, job, line in yaml.safe_load(declared.read_text()) or ())
