"""The training of the smoke ladder, run with JAX on this machine's CPU: heavy, and only where JAX is installed.

TIDEPOOL_JAX_PYTHON names a Python that has JAX, which is no dependency here: `python -m venv jax && jax/bin/pip install
jax`.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from infra.jobs.client import JobError, wait
from infra.jobs.local import LocalClient
from infra.jobs.outcomes import Outcome
from infra.jobs.request import Command, JobRequest
from infra.operations.smoke import SmokeOrder, step_request
from tests.jobs.synthetic import IMAGE
from tests.lacking import lacking

PYTHON = os.environ.get("TIDEPOOL_JAX_PYTHON", "python3")
pytestmark = pytest.mark.heavy


@pytest.fixture(autouse=True, scope="module")
def jax() -> None:
    found = subprocess.run([PYTHON, "-c", "import jax"], capture_output=True, check=False)
    if found.returncode != 0:
        lacking(f"{PYTHON} has no JAX; TIDEPOOL_JAX_PYTHON names one that has")


def training(step: str, **environment: str) -> JobRequest:
    """The job of a step of the ladder, with the Python that has JAX, on the CPU."""
    asked = step_request(step, SmokeOrder(image=IMAGE), "default")
    entry = Command((PYTHON, *asked.entry_point.argv[1:]))
    told = {**asked.environment, "JAX_PLATFORMS": "cpu", **environment}
    return replace(asked, entry_point=entry, environment=told, queue="")


def test_the_training_of_the_cpu_step_learns(tmp_path: Path) -> None:
    job = LocalClient(tmp_path).submit(training("cpu"))
    assert wait(job, timeout=300, every=0.2).outcome is Outcome.SUCCESS
    said = list(job.logs(10))
    assert any("loss" in line for line in said)


def test_the_training_of_the_tpu_step_fails_where_there_is_no_tpu(tmp_path: Path) -> None:
    job = LocalClient(tmp_path).submit(training("tpu"))
    with pytest.raises(JobError) as error:
        wait(job, timeout=300, every=0.2)
    assert error.value.outcome is Outcome.ERROR
    assert any("tpu was expected" in line for line in job.logs(10))
