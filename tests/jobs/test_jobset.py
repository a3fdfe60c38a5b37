"""JobSets: valid by the published definition, one pod a VM, and restarts that tell preemption from failure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.jobs import jobset as rendering
from infra.jobs.jobset import jobset
from infra.jobs.request import JobRequest, Resources, Retries
from infra.model.catalogue import accelerator_types
from infra.model.errors import ConfigError
from infra.model.gke_shapes import gke_shape
from tests.jobs.crds import faults
from tests.jobs.synthetic import request


def job_of(body: dict[str, Any]) -> dict[str, Any]:
    return body["spec"]["replicatedJobs"][0]


def spec_of(body: dict[str, Any]) -> dict[str, Any]:
    return job_of(body)["template"]["spec"]


def pod_of(body: dict[str, Any]) -> dict[str, Any]:
    return spec_of(body)["template"]["spec"]


REQUESTS = {
    "multislice": request(
        time_limit=86400, priority="high", secrets={"HF_TOKEN": "hf-token", "WANDB_API_KEY": "WandB_key"}
    ),
    "one slice": request(resources=Resources.with_tpu("v5litepod-16"), queue="", service_account="trainer"),
    "one host": request(resources=Resources.with_tpu("v4-8", disk="100Gi")),
    "two processes a VM": request(resources=Resources.with_tpu("tpu7x-8", cpu="200", memory="900Gi")),
    "no TPU": request(resources=Resources.with_cpu("500m"), service_account="operator"),
    "no retries": request(retries=Retries(preemptions=0, failures=0)),
}


GOLDEN = Path(__file__).parent / "golden" / "jobsets.yaml"


def test_jobsets_are_the_golden_ones(update_goldens: bool) -> None:
    """Each field of a request is where Kubernetes, JobSet and Kueue read it."""
    given = {"one host": {"environment": {"RUN_ID": "7"}, "checkpoint_signal": "USR1", "grace": 600}}
    asked = [replace(each, **given.get(name, {})) for name, each in REQUESTS.items()]
    text = json.dumps([jobset(each) for each in asked]).replace(json.dumps(rendering.enter_script()), '"enter.sh"')
    found = yaml.safe_dump_all(json.loads(text), sort_keys=False, width=120)
    if update_goldens:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS.keys())
def test_every_rendered_object_is_valid_by_its_definition(asked: JobRequest) -> None:
    assert faults(jobset(asked)) == []


def test_the_definition_refuses_what_is_unknown_and_what_is_missing() -> None:
    """The check above can fail: an API server would drop the first without a word."""
    body = jobset(request())
    body["spec"]["maxRestart"] = 3
    del job_of(body)["template"]
    assert len(faults(body)) == 2


@pytest.mark.parametrize("name", [name for name, each in accelerator_types().items() if gke_shape(each)])
def test_one_pod_takes_all_chips_of_one_vm(name: str) -> None:
    accelerator = accelerator_types()[name]
    body = jobset(request(resources=Resources.with_tpu(name)))
    spec = spec_of(body)
    chips = sum(int(each["resources"]["limits"]["google.com/tpu"]) for each in pod_of(body)["containers"])
    assert (spec["parallelism"], spec["completions"], spec["completionMode"]) == (
        accelerator.hosts,
        accelerator.hosts,
        "Indexed",
    )
    assert chips * spec["parallelism"] == accelerator.chips
    assert pod_of(body)["nodeSelector"]["cloud.google.com/gke-tpu-topology"] == str(accelerator.topology)


def test_the_job_can_be_submitted_anew_from_what_it_left() -> None:
    text = jobset(request())["metadata"]["annotations"][rendering.REQUEST]
    assert JobRequest.of_json(json.loads(text)) == request()


def test_a_job_without_an_image_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"by digest(.|\n)*--image IMAGE@sha256"):
        jobset(request(image=""))
