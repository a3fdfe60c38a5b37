"""What `images/images.yaml` may not say. Each refusal names its place, the value, the rule and what to write."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

import pytest

from infra.model.errors import ConfigError, Problem
from infra.model.images import stack_rules
from infra.model.images.load import load_images
from infra.model.images.places import places
from tests.model.images.declared import (
    BUILDS,
    FILES,
    IMAGES,
    LISTING,
    PINS,
    REGISTRIES,
    SOURCE,
    edited,
    loaded,
    project,
    refused,
    stacks,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "image_refusals.txt"
OTHER = """\
  - name: other
    folder: images/other
    context: {repository: lab/code, paths: [uv.lock]}
    builder: github
    bases: {BASE_IMAGE: python}
    platforms: [linux/amd64]
    push: {ghcr: ghcr.io/lab/other}
    when: {}
    used_by: {workflows: [Nightly]}
"""
OTHER_FOLDER = {
    "images/other/Dockerfile": FILES["images/base/Dockerfile"],
    "images/other/Dockerfile.dockerignore": FILES["images/base/Dockerfile.dockerignore"],
    "images/other/smoke.sh": "#!/bin/sh\n",
}


def test_an_image_that_only_people_elsewhere_pull_says_so(tmp_path: Path) -> None:
    text = edited(IMAGES, ("used_by: {workflows: [Nightly]}", "used_by: {outside: clusters that people start}"))
    spec = loaded(project(tmp_path, {SOURCE: text}))
    assert spec.image("child").used_by.outside == "clusters that people start"


def test_the_small_right_project_is_accepted(tmp_path: Path) -> None:
    assert [image.name for image in loaded(project(tmp_path)).order()] == ["runner", "base", "child"]


BAD: dict[str, tuple[str, str, str, str]] = {
    # what is wrong: (old, new, where it is said, what is said)
    "an unknown key": ("    when:\n", "    wehn:\n", "images[0].wehn", "when, or a key of docs/images.md"),
    "an unknown key of the file": ("shared:", "sahred:", "sahred", "shared, or one of"),
    "an unknown key of a trigger": ("{branch: main}", "{brunch: main}", "when.push.brunch", "branch; or remove"),
    "another version": ("version: 1", "version: 2", "version", "not version 1, which this program reads"),
    "no builder": ("    builder: cloudbuild\n", "", "images[0].builder", "builder is required"),
    "both builders": (
        "builder: cloudbuild",
        "builder: [cloudbuild, github]",
        "images[0].builder",
        "one of cloudbuild, github",
    ),
    "an unknown builder": ("builder: cloudbuild", "builder: jenkins", "images[0].builder", "one of cloudbuild, github"),
    "a builder of no kind": ("builder: cloudbuild", "builder:", "images[0].builder", "a value"),
    "an unknown parent": ("parents: [base]", "parents: [bsae]", "images[2].parents[0]", "base"),
    "a parent by tag": (
        "parents: [base]",
        "parents: ['base:latest']",
        "images[2].parents[0]",
        "an image of this file by its name alone: its digest is the one just built, never a tag",
    ),
    "a parent by digest": (
        "parents: [base]",
        "parents: ['base@sha256:0']",
        "images[2].parents[0]",
        "an image of this file by its name alone: its digest is the one just built, never a tag",
    ),
    "a parent by place": (
        "parents: [base]",
        "parents: [ghcr.io/lab/base]",
        "images[2].parents[0]",
        "an image of this file by its name alone: its digest is the one just built, never a tag",
    ),
    "a parent twice": ("parents: [base]", "parents: [base, base]", "images[2].parents[1]", "remove one"),
    "a parent of another builder": (
        "parents: [base]",
        "parents: [base, runner]",
        "images[2].parents[1]",
        "has cloudbuild",
    ),
    "an image that is its own parent": (
        "parents: [base]",
        "parents: [base, child]",
        "images[2].parents",
        "from itself",
    ),
    "a cycle": ("bases: {BASE_IMAGE: python}", "parents: [child]", "images[1].parents", "base from child from base"),
    "neither base nor parent": ("    bases: {BASE_IMAGE: debian}\n", "", "images[0]", "bases: {BASE_IMAGE: NAME}"),
    "a platform that parents lack": (
        "[linux/amd64, linux/arm64]",
        "[linux/arm64]",
        "images[2].platforms",
        "linux/arm64",
    ),
    "an unknown platform": ("[linux/amd64]", "[linux/s390x]", "images[0].platforms[0]", "linux/amd64 or linux/arm64"),
    "a platform twice": (
        "[linux/amd64, linux/arm64]",
        "[linux/amd64, linux/amd64]",
        "images[1].platforms[1]",
        "one of",
    ),
    "no platform": ("[linux/amd64]", "[]", "images[0].platforms", "the list is empty"),
    "a child of another repository": (
        "repository: lab/code\n      paths: [lib/**]",
        "repository: lab/tidepool\n      paths: [images/**]",
        "images[2].context.repository",
        "its parent reads another repository",
    ),
    "a child of another branch": (
        "      after: Tests",
        "      push: {branch: dev}",
        "when.push.branch",
        "its parent follows another branch",
    ),
    "two images of one name": ("name: base", "name: runner", "images[1].name", "another name"),
    "a name that is none": ("name: runner", "name: Runner", "images[0].name", "lower-case"),
    "two images of one folder": ("folder: images/base", "folder: images/child", "images[2].folder", "another folder"),
    "a folder elsewhere": ("folder: images/runner", "folder: docker/runner", "images[0].folder", "right below images/"),
    "two images pushed to one place": (
        "ghcr.io/lab/child",
        "ghcr.io/lab/base",
        "images[2].push",
        "base goes to this place",
    ),
    "both registries": (
        "push: {ghcr: ghcr.io/lab/base}",
        "push: {ghcr: ghcr.io/lab/base, artifact_registry: {stack: ci, repository: images}}",
        "images[1].push",
        "writes one of them",
    ),
    "neither registry": ("push: {ghcr: ghcr.io/lab/base}", "push: {}", "images[1].push", "writes one of them"),
    "GHCR by Cloud Build": (
        "artifact_registry: {stack: ci, repository: images}",
        "ghcr: ghcr.io/lab/runner",
        "images[0].push.ghcr",
        "no token of GitHub's",
    ),
    "Artifact Registry by a GitHub job": (
        "push: {ghcr: ghcr.io/lab/base}",
        "push: {artifact_registry: {stack: ci, repository: images}}",
        "images[1].push.artifact_registry",
        "GitHub jobs cannot write Artifact Registry: only the stack's builder may",
    ),
    "GHCR of a stranger": (
        "ghcr.io/lab/base",
        "ghcr.io/marin-community/base",
        "images[1].push.ghcr",
        "ghcr.io/lab/base",
    ),
    "a GHCR name with a tag": ("ghcr.io/lab/base", "ghcr.io/lab/base:latest", "images[1].push.ghcr", "without tag"),
    "a registry that is not GHCR": (
        "ghcr.io/lab/base",
        "docker.io/lab/base",
        "images[1].push.ghcr",
        "GitHub's registry",
    ),
    "an unknown stack": ("{stack: ci, repository", "{stack: cl, repository", "artifact_registry.stack", "one of ci"),
    "a stack without registries": ("{stack: ci, repository", "{stack: train, repository", "registry.stack", "no regis"),
    "an unknown repository": (
        "repository: images}",
        "repository: image}",
        "artifact_registry.repository",
        "images, bare",
    ),
    "a region without a repository": (
        "repository: images}",
        "repository: images, regions: [us-east1]}",
        "artifact_registry.regions[0]",
        "no repository in us-east1",
    ),
    "a region twice": (
        "repository: images}",
        "repository: images, regions: [us-west4, us-west4]}",
        "artifact_registry.regions[1]",
        "remove one",
    ),
    "no region": ("repository: images}", "repository: images, regions: []}", "artifact_registry.regions", "no region"),
    "a region that is none": (
        "repository: images}",
        "repository: images, regions: [mars]}",
        "artifact_registry.regions[0]",
        "six regions",
    ),
    "retention of another age": (
        "delete_older_than: 30d",
        "delete_older_than: 60d",
        "retention.delete_older_than",
        "30d",
    ),
    "retention of another count": ("keep_newest: 16", "keep_newest: 3", "images[0].retention.keep_newest", "16"),
    "a repository that forgets nothing": ("repository: images}", "repository: bare}", "delete_older_than", "never"),
    "no retention in Artifact Registry": (
        "    retention: {delete_older_than: 30d, keep_newest: 16}\n",
        "",
        "images[0].retention",
        "retention: {delete_older_than: 30d, keep_newest: 16}",
    ),
    "retention in GHCR": (
        "    push: {ghcr: ghcr.io/lab/child}\n",
        "    push: {ghcr: ghcr.io/lab/child}\n    retention: {delete_older_than: 30d, keep_newest: 16}\n",
        "images[2].retention",
        "remove retention",
    ),
    "a bad age": ("delete_older_than: 30d", "delete_older_than: month", "retention.delete_older_than", "such as 30d"),
    "an unknown stack of users": (
        "used_by: {stack: ci,",
        "used_by: {stack: prod,",
        "used_by.stack",
        "one of ci, train",
    ),
    "an unknown pool": ("pools: [tpu-ci]", "pools: [tpu-cl]", "used_by.pools[0]", "tpu-ci"),
    "another stack's pool": ("pools: [tpu-ci]", "pools: [train-v5e]", "used_by.pools[0]", "stack ci has no such pool"),
    "an unknown role": ("pools: [tpu-ci]", "roles: [boss]", "used_by.roles[0]", "broker, controller"),
    "pools of no stack": ("{stack: ci, pools", "{pools", "images[0].used_by", "stack: NAME"),
    "an image that nobody uses": (
        "    used_by: {workflows: [Nightly]}\n",
        "",
        "images[2].used_by",
        "nothing uses the image: no pool, role, workflow, image built from it, or anybody outside",
    ),
    "a pool that could never pull it": (
        "used_by: {workflows: [Nightly]}",
        "used_by: {stack: ci, pools: [tpu-ci]}",
        "images[2].used_by",
        "goes to ghcr.io/lab/child",
    ),
    "a pool in a region without it": (
        "repository: images}",
        "repository: images, regions: [us-central1]}",
        "used_by.pools[0]",
        "where no repository has runner",
    ),
    "a bad cron": ('"0 3 * * *"', '"0 25 * * *"', "when.schedule.cron", "five fields"),
    "a cron with seconds": ('"0 3 * * *"', '"0 0 3 * * *"', "when.schedule.cron", "five fields"),
    "a cron word": ('"0 3 * * *"', '"@daily"', "when.schedule.cron", "five fields"),
    "a cron that never comes": ('"0 3 * * *"', '"0 3 30 2 *"', "when.schedule.cron", "0 3 * * *"),
    "a bad time zone": ("time_zone: UTC", "time_zone: Mars/Base", "when.schedule.time_zone", "time zone database"),
    "a schedule without a zone": (", time_zone: UTC", "", "when.schedule.time_zone", "required"),
    "a bad tag": ("tags: [latest,", "tags: ['la test',", "images[0].tags[0]", "not a tag"),
    "an unknown field of a tag": ('"{date}"', '"{branch}"', "images[0].tags[1]", "{date} and {revision}"),
    "a tag twice": ("tags: [latest,", "tags: [latest, latest,", "images[0].tags[1]", "remove one"),
    "a tag that promotion gives": ("tags: [latest,", "tags: [in-use-x,", "images[0].tags[0]", "promotion alone"),
    "a path filter that matches nothing": (
        "[uv.lock, lib",
        "[uv.lokc, lib",
        "context.paths[0]",
        "images listing lab/code",
    ),
    "a path filter of another language": (
        "[lib/**]",
        "['lib/{a,b}/**']",
        "context.paths[0]",
        "not a path from the top of the repository, with * within a folder and ** for whole folders only",
    ),
    "a path filter that leaves": (
        "[lib/**]",
        "[../lib/**]",
        "context.paths[0]",
        "not a path from the top of the repository, with * within a folder and ** for whole folders only",
    ),
    "a path filter from the root": (
        "[lib/**]",
        "[/lib/**]",
        "context.paths[0]",
        "not a path from the top of the repository, with * within a folder and ** for whole folders only",
    ),
    "a path filter twice": ("[lib/**]", "[lib/**, lib/**]", "context.paths[1]", "remove one"),
    "no path filter": ("[lib/**]", "[]", "images[2].context.paths", "the list is empty"),
    "an exception for an unknown image": (
        "images:\n",
        "exceptions: [{finding: CVE-2026-1, images: [runner, bsae], reason: none, expires: 2026-12-01}]\nimages:\n",
        "exceptions[0].images[1]",
        "base, or one of child, runner",
    ),
    "a user twice": (
        "used_by: {workflows: [Nightly]}",
        "used_by: {workflows: [Nightly, Nightly]}",
        "images[2].used_by.workflows[1]",
        "remove one",
    ),
    "a pool twice": ("pools: [tpu-ci]", "pools: [tpu-ci, tpu-ci]", "used_by.pools[1]", "remove one"),
    "a role twice": ("pools: [tpu-ci]", "roles: [broker, broker]", "used_by.roles[1]", "remove one"),
    "a download twice": ("downloads: [uv]", "downloads: [uv, uv]", "downloads[1]", "remove one"),
    "shared files that are not there": (
        "[images/steps/**]",
        "[images/stesp/**]",
        "shared[0]",
        "the path filter names no file of",
    ),
    "a repository without a listing": (
        "repository: lab/code",
        "repository: lab/data",
        "images",
        "images listing lab/data",
    ),
    "a repository that is none": ("repository: lab/code", "repository: code", "context.repository", "owner/name"),
    "an unknown base": ("BASE_IMAGE: debian", "BASE_IMAGE: debain", "bases.BASE_IMAGE", "debian, or one of python"),
    "an unknown download": ("downloads: [uv]", "downloads: [vu]", "downloads[0]", "one of uv"),
    "a base as a download": ("downloads: [uv]", "downloads: [debian]", "downloads[0]", "no such entry of downloads"),
    "a build argument that is none": ("BASE_IMAGE: debian", "base: debian", "bases.base", "such as BASE_IMAGE"),
    "a download that nobody takes": (
        "bases: {BASE_IMAGE: python}",
        "bases: {BASE_IMAGE: python}\n    downloads: [uv]",
        "images[1].folder",
        "remove uv",
    ),
    "an argument that nobody gives": ("    downloads: [uv]\n", "", "images[0].folder", "its base, parent or download"),
    "a folder for uv that is none": ("/opt/uv/cache", "opt/uv", "paths.uv_cache", "absolute path"),
    "a folder without files": ("folder: images/base", "folder: images/gone", "images[1].folder", "has no Dockerfile"),
    "nothing where a value is due": ("time_zone: UTC", "time_zone: ~", "when.schedule.time_zone", "a value"),
}


@cache
def refusals(what: str) -> list[Problem]:
    old, new, _, _ = BAD[what]
    with TemporaryDirectory() as root, refused() as problems:
        loaded(project(Path(root), {SOURCE: edited(IMAGES, (old, new))}))
    return problems


@pytest.mark.parametrize("what", BAD)
def test_a_bad_declaration_is_refused(what: str) -> None:
    _, _, where, said = BAD[what]
    problems = refusals(what)
    right = [
        each for each in problems if each.subject.endswith(where) and said in f"{each.rule} {each.fix} {each.value}"
    ]
    assert right, "\n".join(map(str, problems))
    assert all(problem.rule and problem.fix for problem in problems)
    assert all(problem.subject.startswith(f"{SOURCE}:") for problem in problems), "every problem has its line"


def test_the_words_of_every_refusal_are_those_that_were_read_last(update_goldens: bool) -> None:
    """All of them in one place, as people see them: where, what, why and what to write."""
    told = "".join(f"{what}\n{indent(str(ConfigError(refusals(what))), '  ')}\n" for what in sorted(BAD))
    if update_goldens:
        GOLDEN.write_text(told, encoding="utf-8")
    assert told == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


@pytest.mark.parametrize(
    ("file", "text", "subject", "said"),
    [
        ("images/runner/Dockerfile", None, "images[0].folder", "a file images/runner/Dockerfile"),
        ("images/runner/smoke.sh", None, "images[0].folder", "a file images/runner/smoke.sh"),
        ("images/runner/Dockerfile.dockerignore", None, "images[0].context.paths", "the same paths"),
        ("images/runner/Dockerfile.dockerignore", "*\n!uv.lock\n", "images[0].context.paths", "the same paths"),
        (
            "images/runner/Dockerfile.dockerignore",
            "!uv.lock\n!lib/*/pyproject.toml\n",
            "context.paths",
            "the same paths",
        ),
        ("images/runner/Dockerfile", "ARG BASE_IMAGE\nARG UV_URL\nARG NODE_URL\n", "images[0].folder", "no ARG"),
        ("images/stray/Dockerfile", "FROM scratch\n", "images", "remove it"),
        (LISTING, "# source: https://github.com/lab/code\nuv.lock 12\n", f"{LISTING}:2", "images listing lab/code"),
        (LISTING, f"uv.lock {'c' * 40}\n", LISTING, "images listing lab/code"),
        (LISTING, "# source: /home/me/code\n", LISTING, "images listing lab/code"),
        (SOURCE, None, SOURCE, "a file images/images.yaml"),
        (SOURCE, "", SOURCE, "docs/images.md"),
        (SOURCE, "- a\n", f"{SOURCE}:1", "version: 1"),
        (SOURCE, "version: 1\nimages: [\n", f"{SOURCE}:3", "mend this line"),
        ("images/bases.yaml", None, "images/bases.yaml", "a file images/bases.yaml"),
    ],
)
def test_a_checkout_that_does_not_fit_is_refused(
    file: str, text: str | None, subject: str, said: str, tmp_path: Path
) -> None:
    with refused() as problems:
        loaded(project(tmp_path, {file: text}))
    assert [each for each in problems if each.subject.endswith(subject) and said in each.fix], "\n".join(
        map(str, problems)
    )


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.dockerignore"])
def test_a_recipe_that_is_no_text_is_refused(name: str, tmp_path: Path) -> None:
    root = project(tmp_path, {})
    (root / "images/runner" / name).write_bytes(b"ARG BASE_IMAGE\n\xff\n")
    with refused() as problems:
        loaded(root)
    (problem,) = problems
    assert (problem.subject, problem.rule) == (f"images/runner/{name}:2", "not UTF-8 text")


def test_a_folder_of_steps_or_listings_is_no_image(tmp_path: Path) -> None:
    assert loaded(project(tmp_path, {"images/steps/lib.sh": ""}))


def test_an_ignore_file_may_name_a_whole_folder_by_its_name(tmp_path: Path) -> None:
    assert loaded(project(tmp_path, {"images/child/Dockerfile.dockerignore": "*\n!lib\n"}))


def test_an_ignore_file_may_open_folders_on_the_way_to_what_counts(tmp_path: Path) -> None:
    opened = "# For buildah.\n*\n!uv.lock\n!lib\nlib/*/*\n!lib/*/pyproject.toml\n"
    assert loaded(project(tmp_path, {"images/runner/Dockerfile.dockerignore": opened}))


def test_every_mistake_is_told_at_once_and_in_reading_order(tmp_path: Path) -> None:
    text = edited(IMAGES, ("cloudbuild", "jenkins"), ("[base]", "[bsae]"), ("ghcr.io/lab/base", "docker.io/x"))
    pins = edited(PINS, ("https://hub", "http://hub"))
    with refused() as problems:
        loaded(project(tmp_path, {SOURCE: text, "images/bases.yaml": pins}))
    lines = [problem.subject.split()[0] for problem in problems]
    assert lines == ["images/bases.yaml:7", f"{SOURCE}:14", f"{SOURCE}:34", f"{SOURCE}:43"]


def test_a_wrong_image_keeps_its_name_for_its_children(tmp_path: Path) -> None:
    with refused() as problems:
        loaded(project(tmp_path, {SOURCE: edited(IMAGES, ("ghcr.io/lab/base", "nowhere"))}))
    assert [problem.subject for problem in problems] == [f"{SOURCE}:34 images[1].push.ghcr"]


def test_an_image_whose_users_run_it_needs_a_repository_that_keeps_what_runs(tmp_path: Path) -> None:
    forgetful = stacks(REGISTRIES.replace(", keep_tag_prefixes: [in-use-]", ""))
    with refused() as problems:
        load_images(project(tmp_path), forgetful)
    assert [problem.fix for problem in problems] == ["keep_tag_prefixes: [in-use-] in the stack"]


STACK = f"{SOURCE}:19 images[0].push.artifact_registry.stack"


@pytest.mark.parametrize(
    ("there", "subject", "rule", "fix"),
    [
        ((), STACK, "no stack file has this name", "a file stacks/Pulumi.ci.yaml"),
        (("registries",), STACK, "stack ci has no registries", "a stack's own"),
        (
            ("registries", "pools"),
            f"{SOURCE}:25 images[0].used_by.pools[0]",
            "stack ci has no such pool",
            "another stack",
        ),
    ],
    ids=["no stack", "no registries anywhere", "no pools"],
)
def test_what_no_stack_has_is_refused_and_what_to_write_names_nothing_that_is_not_there(
    there: tuple[str, ...], subject: str, rule: str, fix: str, tmp_path: Path
) -> None:
    bare = stacks()["train"].model_copy(update={"stack": "ci"})
    having = {"ci": bare if "pools" not in there else stacks()["ci"].model_copy(update={"pools": ()})}
    with refused() as problems:
        load_images(project(tmp_path), having if there else {})
    assert [(each.rule, each.fix) for each in problems if each.subject == subject] == [(rule, fix)]


@pytest.mark.parametrize(("most", "fix"), [(70, "timeout: 70m or more"), (69, "fewer images in one build")])
def test_a_build_that_no_timeout_suffices_for_is_told_to_be_smaller(
    most: int, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_rules, "MAX_BUILD_SECONDS", most * 60)
    with refused() as problems:
        load_images(project(tmp_path), stacks(builds=edited(BUILDS, ("2h", "60m"))))
    assert problems[0].fix.startswith(fix)


def test_what_cloud_build_builds_needs_a_stack_that_builds(tmp_path: Path) -> None:
    silent = dict(stacks())
    silent["ci"] = silent["ci"].model_copy(update={"builds": None})
    with refused() as problems:
        load_images(project(tmp_path), silent)
    assert [(each.subject, each.value) for each in problems] == [(f"{SOURCE}:14 images[0].builder", "cloudbuild")]


@pytest.mark.parametrize("children", [0, 1])
def test_a_build_is_given_the_time_that_the_limits_of_its_steps_add_up_to(tmp_path: Path, children: int) -> None:
    child = edited(IMAGES[IMAGES.index("  - name: runner") : IMAGES.index("  - name: base")], ("runner", "more"))
    child = edited(child, ("images/runner", "images/more"), ("bases: {BASE_IMAGE: debian}", "parents: [runner]"))
    files = {path.replace("/runner/", "/more/"): text for path, text in FILES.items() if "/runner/" in path}
    files["images/more/Dockerfile"] = files["images/more/Dockerfile"].replace("BASE_IMAGE", "PARENT_IMAGE")
    declared = {SOURCE: IMAGES + children * child, **(files if children else {})}
    root, minutes = project(tmp_path, declared), 70 + 50 * children
    load_images(root, stacks(builds=edited(BUILDS, ("2h", f"{minutes}m"))))
    with refused() as problems:
        load_images(root, stacks(builds=edited(BUILDS, ("2h", f"{minutes * 60 - 1}s"))))
    assert problems[0].subject == f"{SOURCE}:9 images[0]"
    assert problems[0].fix == f"timeout: {minutes}m or more below tidepool:builds of the stack"


def test_a_private_repository_that_a_job_of_github_reads_is_refused(tmp_path: Path) -> None:
    private = stacks(builds=BUILDS.replace("{repository: lab/code}", "{repository: lab/code, private: true}"))
    with refused() as problems:
        load_images(project(tmp_path), private)
    assert [each.subject.partition(" ")[2] for each in problems] == ["images[1].builder", "images[2].builder"]


def test_a_repository_that_the_stack_is_not_connected_to_is_refused(tmp_path: Path) -> None:
    unconnected = stacks(builds=BUILDS.replace(", {repository: lab/tidepool}", ""))
    with refused() as problems:
        load_images(project(tmp_path), unconnected)
    assert [problem.value for problem in problems] == ['"lab/tidepool"']


def test_the_region_where_builds_run_is_pushed_to_first(tmp_path: Path) -> None:
    runner = loaded(project(tmp_path)).image("runner")
    assert places(runner, stacks()) == (
        "us-west4-docker.pkg.dev/my-lab/images/runner",
        "us-central1-docker.pkg.dev/my-lab/images/runner",
    )


def test_what_is_not_there_yet_may_be_ignored(tmp_path: Path) -> None:
    assert loaded(project(tmp_path)).ignored == ("images/*/README.md",)


def test_another_image_is_accepted_with_its_folder(tmp_path: Path) -> None:
    assert loaded(project(tmp_path, {SOURCE: IMAGES + OTHER, **OTHER_FOLDER})).image("other").folder == "images/other"


def test_a_working_copy_counts_before_the_listing(tmp_path: Path) -> None:
    copy = tmp_path / "code"
    for path in ("uv.lock", "lib/a/pyproject.toml", "lib/b.py"):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text("")
    root = project(tmp_path / "project", {LISTING: None})
    assert load_images(root, stacks(), checkouts={"lab/code": copy})
    (copy / "uv.lock").unlink()
    with refused() as problems:
        load_images(root, stacks(), checkouts={"Lab/Code": copy})
    assert {problem.value for problem in problems} == {'"uv.lock"'}
