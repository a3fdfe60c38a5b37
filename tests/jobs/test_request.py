"""What a job may ask for, and what is refused with every mistake at once."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from infra.jobs.request import Command, ImportedCall, JobRequest, Resources, Retries
from infra.model.errors import ConfigError
from tests.jobs.synthetic import IMAGE, request


def refused(**more: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as error:
        request(**more)
    return {each.subject.partition(": ")[2]: each.rule for each in error.value.problems}


def test_replicas_default_to_the_slices_of_the_resources() -> None:
    assert request(resources=Resources.with_tpu("v4-32", slice_count=3)).replicas == 3
    assert request(resources=Resources.with_tpu("v4-8")).replicas == 1
    assert request(resources=Resources.with_cpu()).replicas == 1


def test_a_flexible_job_starts_from_the_most_slices_that_are_allowed() -> None:
    flexible = Resources.with_tpu("v4-32", slice_count=[4, 1, 2])
    assert flexible.slice_counts == (1, 2, 4)
    assert request(resources=flexible).replicas == 4
    assert request(resources=flexible).with_replicas(2).replicas == 2
    assert refused(resources=flexible, replicas=3).keys() == {"replicas"}


def test_hosts_follow_from_the_accelerator_type() -> None:
    assert [Resources.with_tpu(each).hosts for each in ("v4-8", "v4-32", "v5litepod-8", "v6e-16")] == [1, 4, 1, 4]


def test_an_unknown_accelerator_is_refused_with_those_near_it() -> None:
    with pytest.raises(ConfigError, match="v4-32"):
        Resources.with_tpu("v4-31")


@pytest.mark.parametrize("counts", [0, [], [0, 2]])
def test_a_slice_count_is_positive(counts: object) -> None:
    with pytest.raises(ConfigError, match="slice counts"):
        Resources.with_tpu("v4-8", slice_count=counts)  # ty: ignore[invalid-argument-type]


def test_every_mistake_of_a_request_is_told_at_once() -> None:
    found = refused(
        name="Llama_3",
        image="train:latest",
        entry_point=ImportedCall("train.main"),
        environment={"MEGASCALE_SLICE_ID": "0", "1X": "y"},
        resources=Resources.with_cpu("many"),
        retries=Retries(preemptions=-1, failures=-1),
        time_limit=0,
        grace=-1,
        checkpoint_signal="KILL",
    )
    assert found.keys() == {
        "name", "image", "entry point", "environment MEGASCALE_SLICE_ID", "environment 1X", "resources.cpu",
        "retries.preemptions", "retries.failures", "time_limit", "grace", "checkpoint_signal",
    }  # fmt: skip
    assert found["entry point"] == "not the import path of a function"


def test_what_would_have_no_effect_or_no_value_is_refused() -> None:
    assert refused(queue="", priority="high").keys() == {"priority"}
    request(queue="v4-32", priority="high")
    assert refused(secrets={"HF_TOKEN": "hf/token"}).keys() == {"secret HF_TOKEN"}
    token = "hf_" + "x" * 34
    for way in ({"secrets": {"HF_TOKEN": token}}, {"environment": {"HF_TOKEN": token}}):
        told = refused(**way)
        assert told.keys() == {"environment HF_TOKEN"}
        assert token not in str(told)
    both = {"environment": {"HF_TOKEN": "x"}, "secrets": {"HF_TOKEN": "hf-token"}}
    assert refused(**both).keys() == {"environment HF_TOKEN"}


@pytest.mark.parametrize("where", ["environment", "secrets"])
@pytest.mark.parametrize("value", [7, {"name": "hf"}])
def test_a_variable_that_is_not_text_is_refused_by_its_name(where: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"environment RUN_ID\n.*: {type(value).__name__} is not text"):
        request("llama", **{where: {"RUN_ID": value}})


def test_an_image_is_named_by_digest_because_a_tag_may_change_between_restarts() -> None:
    assert "tag" in refused(image="train:latest")["image"]
    assert "64 hexadecimal digits" in refused(image="train@sha256:0a0a")["image"]


def test_a_name_leaves_room_for_the_names_of_its_pods() -> None:
    request("a" * 40)
    assert refused(name="a" * 41).keys() == {"name"}
    longest = f"{'a' * 40}-slice-9999-9999-abcde"
    assert len(longest) <= 63


def test_a_callable_runs_as_a_command_that_needs_nothing_of_this_project() -> None:
    call = ImportedCall("json:JSONEncoder.__init__.__name__.upper")
    assert call.argv[:2] == ("python", "-c")
    printing = ImportedCall("builtins:print", {"end": "written"})
    done = subprocess.run(request(entry_point=printing).runtime, capture_output=True, text=True, check=True)
    assert done.stdout == "written"


def test_a_request_survives_its_way_through_json() -> None:
    full = request(
        entry_point=ImportedCall("train:main", {"steps": 3}),
        environment={"RUN_ID": "7"},
        secrets={"HF_TOKEN": "hf-token"},
        retries=Retries(preemptions=5, failures=1),
        time_limit=3600,
        resources=Resources.with_tpu("v4-32", [1, 2], cpu="100", disk="50Gi"),
    )
    assert JobRequest.of_json(json.loads(json.dumps(full.to_json()))) == full
    plain = JobRequest(name="noop", entry_point=Command(("true",)), image=IMAGE)
    assert JobRequest.of_json(plain.to_json()) == plain


@pytest.mark.parametrize(
    ("part", "told", "named"),
    [
        ("secrets", {"HF_TOKEN": {"name": "hf", "key": "value"}}, "secrets.HF_TOKEN"),
        ("environment", {"RUN_ID": ["of-nobody-elses-business"]}, "environment.RUN_ID"),
        ("resources", {"accelerator": {"name": "v4-8"}}, "resources.accelerator"),
    ],
)
def test_a_request_of_another_version_is_refused_by_the_part_that_cannot_be_read(
    part: str, told: object, named: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        JobRequest.of_json({**request().to_json(), part: told})
    assert [each.subject for each in refused.value.problems] == [named]
    assert "of-nobody-elses-business" not in str(refused.value), "it may be a secret"
