"""The steps of a build as values: their order, what Google's schema says of them, and that both back ends agree."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from googleapiclient.discovery_cache import get_static_doc
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model.images import stack_rules
from infra.model.images.cloudbuild import Site, build_config
from infra.model.images.github import build_jobs
from infra.model.images.pins import Pins, load_pins
from infra.model.images.reading import WrittenFile, parsed
from infra.model.images.rules import ImageContext, JudgedImage
from infra.model.images.spec import SPEC_FILE, ImageSpec
from infra.model.images.steps import (
    CHECKS,
    FETCH,
    LIBRARY,
    STEPS_FOLDER,
    bootstrap,
    build_steps,
    step_pins,
)
from infra.model.images.told import steps_digest, told_files, told_values
from infra.model.stack import load_stack
from tests.synthetic_lab import the_lab

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "model" / "golden" / "builds.yaml"
SITE = Site(
    project="p", stack="ci", logs_bucket="p-logs", service_account="builder@p.iam.gserviceaccount.com",
    machine_type="E2_HIGHCPU_8", timeout=7200, disk_gb=200,
)  # fmt: skip
SCHEMAS = json.loads(get_static_doc("cloudbuild", "v1"))["schemas"]
# https://docs.cloud.google.com/build/quotas and .../build-config-file-schema, read 2026-11-21.
MOST_STEPS, MOST_ARGUMENTS, LONGEST_ARGUMENT, MOST_TAGS, LONGEST_TAG = 300, 100, 10_000, 64, 128


def committed() -> ImageSpec:
    spec, problems = parsed(ImageSpec, WrittenFile.read((the_lab() / SPEC_FILE).read_text(), SPEC_FILE).data, str)
    assert spec is not None, problems
    return spec


SPEC, PINS, FIRST = committed(), load_pins(the_lab()), bootstrap(the_lab())
CI = load_stack(the_lab(), "ci")


def places_of(spec: ImageSpec) -> dict[str, tuple[str, ...]]:
    hosts = ("us-central1-docker.pkg.dev", "europe-west4-docker.pkg.dev")
    return {image.name: tuple(f"{host}/p/r/{image.name}" for host in hosts) for image in spec.images}


def config(spec: ImageSpec, name: str, pins: Pins = PINS, site: Site = SITE) -> dict[str, Any]:
    return build_config(spec, pins, name, places=places_of(spec), site=site, bootstrap=FIRST)


def github_jobs() -> dict[str, dict[str, Any]]:
    return build_jobs(SPEC, PINS, places=places_of(SPEC), timeout=SITE.timeout, bootstrap=FIRST)


def violations(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    """What Google's discovery document says against a value: names, kinds, enums, fields that only the service sets."""
    if reference := schema.get("$ref"):
        schema = SCHEMAS[reference]
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
    if not isinstance(value, kinds[schema["type"]]):
        yield f"{where} is {type(value).__name__}, not {schema['type']}"
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from violations(each, schema["items"], f"{where}[{number}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            declared = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
            if declared is None:
                yield f"{where}.{key} is unknown"
            elif declared.get("readOnly"):
                yield f"{where}.{key} is the service's to set"
            else:
                yield from violations(each, declared, f"{where}.{key}")
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of {schema['enum']}"


def hold(body: dict[str, Any]) -> None:
    assert list(violations(body, {"$ref": "Build"}, "build")) == []
    steps = body["steps"]
    assert len(steps) <= MOST_STEPS
    assert len(body["tags"]) <= MOST_TAGS
    assert max(map(len, body["tags"])) <= LONGEST_TAG
    seen: set[str] = set()
    for step in steps:
        assert step["waitFor"] == ["-"] or set(step["waitFor"]) <= seen, f"{step['id']} waits for what comes later"
        assert step["id"] not in seen
        seen.add(step["id"])
        assert len(step.get("args", ())) <= MOST_ARGUMENTS
        assert all(len(each) <= LONGEST_ARGUMENT for each in (*step.get("args", ()), step.get("script", "")))
    assert steps[0]["waitFor"] == ["-"]


@st.composite
def families(draw: st.DrawFn) -> ImageSpec:
    """Specifications of up to six images with any parents, bases, downloads and platforms."""
    body = SPEC.model_dump(mode="json", exclude_none=True)
    template = next(image for image in body["images"] if image["name"] == "tpu-ci")
    count = draw(st.integers(1, 6))
    images = []
    for number in range(count):
        parents = draw(st.lists(st.sampled_from(range(number)), unique=True, max_size=3)) if number else []
        bases = {} if parents else {"BASE_IMAGE": draw(st.sampled_from(sorted(PINS.bases)))}
        downloads = draw(st.lists(st.sampled_from(sorted(PINS.downloads)), unique=True))
        platforms = draw(st.sampled_from([["linux/amd64"], ["linux/amd64", "linux/arm64"]]))
        name = {"name": f"image-{number}", "folder": f"images/image-{number}"}
        more = {"parents": [f"image-{each}" for each in parents], "bases": bases, "downloads": downloads}
        images.append({**template, **name, **more, "platforms": platforms})
    return ImageSpec.model_validate({**body, "images": images})


@settings(deadline=None, max_examples=60)
@given(families())
def test_googles_schema_takes_every_build_that_can_be_declared(spec: ImageSpec) -> None:
    for image in spec.images:
        hold(config(spec, image.name))


def test_a_build_of_each_back_end_is_the_golden_one(update_goldens: bool) -> None:
    builds = {"cloud-build": config(SPEC, "tpu-ci"), "github": github_jobs()["levanter-cluster"]}
    text = json.dumps(builds).replace(json.dumps(FIRST)[1:-1], "FIRST")
    found = yaml.safe_dump(json.loads(re.sub(r"\b[0-9a-f]{64}\b", "PINNED", text)), sort_keys=False)
    if update_goldens:
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def refused_as_too_short(spec: ImageSpec, timeout: int) -> set[str]:
    """The images whose declaration is refused beside a stack that gives a build this many seconds."""
    assert CI.builds is not None
    stack = CI.model_copy(update={"builds": CI.builds.model_copy(update={"timeout": timeout})})
    judged = JudgedImage(
        images=tuple(enumerate(spec.images)),
        names=frozenset(image.name for image in spec.images),
        recipes=spec.recipes,
        subject=str,
        around=ImageContext(root=the_lab(), stacks={"ci": stack}, pins=PINS),
    )
    return {each.value for each in stack_rules.broken(judged) if "limits of its steps" in each.rule}


@settings(deadline=None, max_examples=60)
@given(families(), st.integers(1, 24 * 60))
def test_no_declaration_makes_a_build_whose_steps_have_more_time_than_it(spec: ImageSpec, minutes: int) -> None:
    """Google's provider refuses such a trigger when it is planned; steps that run side by side count each."""
    refused = refused_as_too_short(spec, minutes * 60)
    for image in spec.images:
        body = config(spec, image.name, site=replace(SITE, timeout=minutes * 60))
        together = sum(int(step["timeout"].removesuffix("s")) for step in body["steps"] if "timeout" in step)
        assert (image.name in refused) == (together > int(body["timeout"].removesuffix("s")))


@settings(deadline=None, max_examples=60)
@given(families())
def test_a_child_begins_after_its_parents_are_recorded_and_tagged(spec: ImageSpec) -> None:
    for image in spec.images:
        family = spec.family(image.name)
        ids = [step.id for step in build_steps(spec, PINS, family, places_of(spec), severity="high")]
        for member, parent in ((each, parent) for each in family for parent in each.parents):
            if f"tags-{parent}" in ids:
                assert ids.index(f"tags-{parent}") < ids.index(f"build-{member.name}")
            else:
                assert "parents" in ids[:4]


def test_only_steps_that_ask_a_registry_are_given_the_token() -> None:
    jobs = github_jobs()
    for step in itertools.chain.from_iterable(job["steps"] for job in jobs.values()):
        file = step["run"].rsplit("/", 1)[-1]
        uses = "signed_in" in (ROOT / STEPS_FOLDER / (FETCH if step["id"] == "fetch" else file)).read_text()
        if "REGISTRY_TOKEN" in step.get("env", {}):
            assert uses
        assert not uses or "REGISTRY_TOKEN" in step["env"] or step["id"] == "build-levanter-base"
        assert "secrets." not in step["run"]
        assert ("GITHUB_TOKEN" in step.get("env", {})) == step["id"].startswith("record-")


def digest_of(spec: ImageSpec, pins: Pins = PINS, first: str = FIRST) -> str:
    made = spec.family("tpu-ci")
    return steps_digest(spec, made, build_steps(spec, pins, made, places_of(spec)), first)


def test_a_build_need_not_be_declared_anew_for_another_pin_but_for_other_steps() -> None:
    uv = PINS.download("uv").model_copy(update={"sha256": "f" * 64})
    python = PINS.base("python").model_copy(update={"digest": f"sha256:{'f' * 64}"})
    edited = PINS.model_copy(
        update={"downloads": {**PINS.downloads, "uv": uv}, "bases": {**PINS.bases, "python": python}}
    )
    assert digest_of(SPEC, edited) == digest_of(SPEC)
    assert digest_of(SPEC, first=f"{FIRST}# another\n") != digest_of(SPEC)
    images = [
        image.model_copy(update={"context": image.context.model_copy(update={"repository": "other/lab"})})
        if image.name == "tpu-ci"
        else image
        for image in SPEC.images
    ]
    assert digest_of(SPEC.model_copy(update={"images": tuple(images)})) != digest_of(SPEC)


def test_every_step_names_its_image_by_digest_and_what_it_needs_is_pinned() -> None:
    for image in SPEC.images:
        for step in config(SPEC, image.name)["steps"]:
            assert "@sha256:" in step["name"]
        assert set(image.pins) <= set(step_pins((image,)))


def test_nothing_of_a_declaration_can_become_a_substitution_or_a_command() -> None:
    downloads = {**PINS.downloads}
    url = "https://example.org/$PROJECT_ID/${_X}/it's/`id`/uv.whl"
    downloads["uv"] = downloads["uv"].model_copy(update={"url": url})
    pins = PINS.model_copy(update={"downloads": downloads})
    assert "example.org" not in json.dumps(config(SPEC, "tpu-ci", pins)), "what is told comes from the recipes alone"
    steps = build_steps(SPEC, pins, SPEC.family("tpu-ci"), places_of(SPEC), severity="low")
    text = told_files(steps)["build-tpu-ci"]
    assert told_values(text)["UV_URL"] == url
    shown = subprocess.run(["sh", "-c", f'{text}printf %s "$UV_URL"'], capture_output=True, text=True, check=True)
    assert shown.stdout == url


def test_an_unresolved_pin_is_said_to_the_first_step_and_no_digest_is_invented() -> None:
    bases = {**PINS.bases, "python": PINS.base("python").model_copy(update={"digest": "unresolved"})}
    body = config(SPEC, "tpu-ci", PINS.model_copy(update={"bases": bases}))
    assert "UNRESOLVED=python" in body["options"]["env"]
    plan = next(step for step in body["steps"] if step["id"] == "plan")
    assert plan["name"] == f"{PINS.base('python').image}:{PINS.base('python').tag}"


def test_every_step_has_its_file_and_every_file_its_step() -> None:
    spec = SPEC
    used = {
        step.script
        for image in spec.images
        for family in (spec.family(image.name), (image,))
        for step in build_steps(spec, PINS, family, places_of(spec), severity="low")
    }
    files = {f"{STEPS_FOLDER}/{path.name}" for path in (ROOT / STEPS_FOLDER).glob("*.sh")}
    assert used == files - {f"{STEPS_FOLDER}/{each}" for each in (LIBRARY, CHECKS)}
