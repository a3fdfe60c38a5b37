"""What a build of images leaves behind: digests in every place, the record, the tags, and how it was made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.builds.machine import BuildStep, Fault
from bench.builds.running import run_build, run_jobs
from bench.tests.builds.pipeline_world import MONOREPO, PLACES, World, commit
from infra.model.images.told import told_text

OUT = "workspace/.tidepool/out/tpu-ci"


def test_tpu_ci_ends_with_one_digest_in_every_region_a_record_and_its_provenance(images: World) -> None:
    config = images.config("tpu-ci")
    # A pin that is edited after the build was declared: what its recipes say counts.
    uv = images.pins.download("uv").model_copy(update={"version": "99.0.0", "sha256": "f" * 64})
    images.pins = images.pins.model_copy(update={"downloads": {**images.pins.downloads, "uv": uv}})
    assert run_build(config, images.machine).status == "SUCCESS"
    current = images.record.images["tpu-ci"].current
    assert len(current.places) == PLACES
    assert images.tags("tpu-ci") == {current.digest}
    assert images.lacking() == []
    assert current.revision[MONOREPO] == commit(1)
    statement = json.loads((images.machine.folder / OUT / "provenance.json").read_text())
    assert statement["subject"] == [
        {"name": images.places["tpu-ci"][0], "digest": {"sha256": current.digest.removeprefix("sha256:")}}
    ]
    definition = statement["predicate"]["buildDefinition"]
    found = {each["uri"]: each["digest"] for each in definition["resolvedDependencies"]}
    assert found[f"git+https://github.com/{MONOREPO}@{commit(1)}"] == {"gitCommit": commit(1)}
    assert all(found.values())
    assert {images.pins.download(name).url for name in images.spec.image("tpu-ci").downloads} <= found.keys()
    assert definition["internalParameters"]["UV_VERSION"] == "99.0.0"
    assert statement["predicate"]["runDetails"]["metadata"]["invocationId"] == "build-1"


def test_a_child_that_is_built_alone_is_from_the_digest_that_the_record_names(images: World) -> None:
    jobs = images.jobs()
    dict(run_jobs(jobs, images.machine, wanted=("levanter-base",), run="1"))
    dict(run_jobs(jobs, images.machine, wanted=("levanter-cluster",), run="2"))
    base = images.record.images["levanter-base"].current.digest
    assert images.record.images["levanter-cluster"].current.parents == {"levanter-base": base}


def test_children_of_a_failed_parent_are_skipped(images: World) -> None:
    jobs = images.jobs()
    fault = Fault("smoke-levanter-base")
    outcomes = run_jobs(jobs, images.machine, wanted=tuple(jobs), run="1", fault=fault)
    assert [each.status for _, each in outcomes] == ["FAILURE", "QUEUED", "QUEUED"]


def test_the_build_of_the_older_commit_that_ends_last_changes_neither_record_nor_tags(images: World) -> None:
    older, newer = images.push(2, {"uv.lock": "version = 2\n"}), images.push(3)
    images.monorepo.joinpath("uv.lock").write_text("version = 3\n")
    run_build(images.config("tpu-ci", newer), images.machine)
    current = images.record.images["tpu-ci"].current.digest
    images.monorepo.joinpath("uv.lock").write_text("version = 2\n")
    outcome = run_build(images.config("tpu-ci", older), images.machine)
    assert outcome.status == "SUCCESS"
    assert images.record.images["tpu-ci"].current.digest == current
    assert images.record.images["tpu-ci"].history[0].revision[MONOREPO] == older
    assert images.tags("tpu-ci") == {current}


def test_a_copy_that_fails_once_is_tried_again(images: World) -> None:
    fault = Fault("copy-tpu-ci-us-central2", "once")
    assert run_build(images.config("tpu-ci"), images.machine, fault=fault).status == "SUCCESS"
    tries = [call for call in images.calls() if call[0] == fault.step and call[2].startswith("copy ")]
    assert len(tries) == 2
    assert images.lacking() == []


def test_a_tool_with_another_checksum_than_the_table_says_is_refused(images: World, tmp_path: Any) -> None:
    config = images.config("tpu-ci")
    build = {**config, "steps": [step for step in config["steps"] if step["id"] == "fetch"]}
    assert run_build(build, images.machine).status == "SUCCESS"
    archive = tmp_path / "crane"
    archive.write_text("another program")
    workspace = images.machine.folder / "workspace/.tidepool"
    told = told_text({"TOOLS": "crane", "CRANE_URL": archive.as_uri(), "CRANE_SHA256": "0" * 64})
    (workspace / "out/told").mkdir()
    (workspace / "out/told/tools").write_text(told)
    env = {"WORKSPACE": str(workspace), "STEP": "tools"}
    script = f"sh {workspace}/recipes/images/steps/tools.sh"
    outcome = images.machine.run(BuildStep(id="tools", script=script, env=env, seconds=60), None)
    assert outcome.status == "FAILURE"
    assert f"its SHA-256 is not {'0' * 64}" in outcome.log


def test_a_build_of_other_steps_than_its_recipes_have_is_refused_before_anything_is_built(images: World) -> None:
    config = images.config("tpu-ci")
    images.places = {**images.places, "tpu-ci": images.places["tpu-ci"][:2]}
    outcome = run_build(config, images.machine)
    assert "declared from other recipes" in outcome.steps["plan"].log
    assert outcome.steps["build-tpu-ci"].status == "QUEUED"
    assert images.recorder.writes == []


@pytest.mark.parametrize("number", [3, 9])
def test_only_commits_that_the_branch_was_at_are_built(images: World, number: int) -> None:
    """GitHub gives out commit 9 too, as it does every commit of a fork."""
    images.push(3)
    outcome = run_build(images.config("tpu-ci", commit(number)), images.machine)
    assert (outcome.status == "SUCCESS") == (number == 3)
    if number == 9:
        assert f"is not a first parent of main in {MONOREPO}" in outcome.steps["fetch"].log
        assert images.recorder.writes == []


def test_the_scan_is_told_what_is_accepted_and_layers_of_the_day_are_kept(images: World) -> None:
    """A cache of one day: Debian's packages in it are never older. A package of GHCR has none beside it."""
    run_build(images.config("tpu-ci"), images.machine)
    out = images.machine.folder / OUT
    (scan,) = [arguments for _, tool, arguments in images.calls() if (tool, arguments[:9]) == ("grype", "--config ")]
    assert scan.split()[1] == str(out / "grype.yaml")
    assert json.loads((out / "grype.yaml").read_text()) == {"ignore": []}
    (made, _) = [arguments for _, tool, arguments in images.calls() if arguments.startswith("buildx build ")]
    day = images.record.images["tpu-ci"].current.built.strftime("%Y%m%d")
    assert f"--cache-from type=registry,ref={images.places['tpu-ci'][0]}-cache:{day} " in made
    assert "ignore-error=true" in made
    dict(run_jobs(images.jobs(), images.machine, wanted=("levanter-base",), run="1"))
    (*_, made, _) = [arguments for _, tool, arguments in images.calls() if arguments.startswith("buildx build ")]
    assert "--cache" not in made


def test_a_private_source_is_fetched_and_no_command_line_log_or_file_has_a_token(images: World) -> None:
    (images.machine.folder / "sources" / MONOREPO / "private").touch()
    linked = "projects/p/locations/us-central1/connections/c/repositories/r"
    config = images.config("tpu-ci")
    refused = run_build(config, images.machine)
    assert refused.status == "FAILURE"
    assert f"{MONOREPO} was not fetched; a private one says private: true" in refused.steps["fetch"].log
    config["options"]["env"].append(f"PRIVATE={MONOREPO}={linked}")
    assert run_build(config, images.machine).status == "SUCCESS"
    (asked,) = [arguments for _, tool, arguments in images.calls() if tool == "curl"]
    assert asked.endswith(f"https://cloudbuild.googleapis.com/v2/{linked}:accessReadToken")
    dict(run_jobs(images.jobs(), images.machine, wanted=("levanter-base",), run="1"))
    kept = [path for path in images.machine.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert all(b"a-token" not in path.read_bytes() for path in kept)
