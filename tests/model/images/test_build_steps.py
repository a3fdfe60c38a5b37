"""The steps of a build as values: their order, what Google's schema says of them, and that both back ends agree."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from infra.model.images.cloudbuild import Site, build_config
from infra.model.images.github import build_jobs
from infra.model.images.pins import Pins, load_pins
from infra.model.images.reading import WrittenFile, parsed
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
from tests.synthetic_lab import the_lab

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "model" / "golden" / "builds.yaml"
SITE = Site(
    project="p", stack="ci", logs_bucket="p-logs", service_account="builder@p.iam.gserviceaccount.com",
    machine_type="E2_HIGHCPU_8", timeout=7200, disk_gb=200,
)  # fmt: skip


def committed() -> ImageSpec:
    spec, problems = parsed(ImageSpec, WrittenFile.read((the_lab() / SPEC_FILE).read_text(), SPEC_FILE).data, str)
    assert spec is not None, problems
    return spec


SPEC, PINS, FIRST = committed(), load_pins(the_lab()), bootstrap(the_lab())


def places_of(spec: ImageSpec) -> dict[str, tuple[str, ...]]:
    hosts = ("us-central1-docker.pkg.dev", "europe-west4-docker.pkg.dev")
    return {image.name: tuple(f"{host}/p/r/{image.name}" for host in hosts) for image in spec.images}


def config(spec: ImageSpec, name: str, pins: Pins = PINS, site: Site = SITE) -> dict[str, Any]:
    return build_config(spec, pins, name, places=places_of(spec), site=site, bootstrap=FIRST)


def github_jobs() -> dict[str, dict[str, Any]]:
    return build_jobs(SPEC, PINS, places=places_of(SPEC), timeout=SITE.timeout, bootstrap=FIRST)


def test_a_build_of_each_back_end_is_the_golden_one(update_goldens: bool) -> None:
    builds = {"cloud-build": config(SPEC, "tpu-ci"), "github": github_jobs()["levanter-cluster"]}
    text = json.dumps(builds).replace(json.dumps(FIRST)[1:-1], "FIRST")
    found = yaml.safe_dump(json.loads(re.sub(r"\b[0-9a-f]{64}\b", "PINNED", text)), sort_keys=False)
    if update_goldens:
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


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
    assert told_values(text)["CACHE"] == "us-central1-docker.pkg.dev/p/r/tpu-ci-cache"
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
