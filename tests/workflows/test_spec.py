"""What a specification may say: every mistake is refused at its line, and all of them at once."""

from __future__ import annotations

import re

import pytest

from infra.model.errors import ConfigError
from tests.synthetic_lab import the_lab
from tests.workflows import monorepo
from workflows.spec import load_spec, read_spec, spec_names

GPT2 = "  - file: levanter-gpt2_small_itest.yaml\n"
REFUSED = [
    # One value.
    ("version: 1\n", "version: 2\n", "version", "not version 1, which this program reads"),
    ("repository: marin-community/marin\n", "repository: marin\n", "repository", "a GitHub repository"),
    ("branch: main\n", "branch: main branch\n", "branch", "the name of a branch"),
    ("tests:\n", "testes: []\ntests:\n", "testes", "no such key: testes"),
    ("  - file: levanter-tests.yaml", "  - file: tests/levanter.yaml", "tests[0].file", "below .github/workflows"),
    ("        package: levanter\n", "        packages: levanter\n", "suites[0].packages", "no such key"),
    ("      - job: cpu-unit-tests", "      - job: 1 cpu tests", "suites[0].job", "a job's id"),
    ("        folder: lib/levanter\n", "        folder: ../levanter\n", "suites[0].folder", "below the top"),
    ("        folder: lib/levanter\n", "        folder: /lib/levanter\n", "suites[0].folder", "below the top"),
    ("        tests: [tests]\n", "        tests: []\n", "suites[0].tests", "no folder of tests is named"),
    ("not entry and not slow", "not entry and and slow", "suites[0].markers", "not names of markers joined"),
    ("not entry and not slow", "entry'; true #", "suites[0].markers", "not names of markers joined"),
    ("where: github-hosted", "where: github", "suites[0].where", "neither GitHub's runners nor pools of the fleet"),
    ("where: github-hosted", "where: []", "suites[0].where", "not a list of pools with at least one"),
    ("where: github-hosted", "where: {schedule: [tpu-ci]}", "suites[0].where", "not an event of suites"),
    ("          pull_request: [tpu-ci]", "          pull_request: [tpu-ci, tpu-ci]", "suites[3].where", "named twice"),
    ("          pull_request: [tpu-ci]", "          pull_request: [TPU]", "suites[3].where", "a pool's name"),
    ('python: ["3.11"]', "python: [3.11]", "suites[0].python[0]", "not text"),
    ('python: ["3.11"]', 'python: ["3.11.4"]', "suites[0].python[0]", "first two numbers"),
    ('jax: ["0.6.2",', 'jax: ["0.6",', "suites[0].jax[0]", "a whole release of jax"),
    ("timeout_minutes: 30", "timeout_minutes: 30m", "suites[0].timeout_minutes", "whole number of minutes"),
    ("timeout_minutes: 30", "timeout_minutes: 2", "suites[0].timeout_minutes", "whole number of minutes"),
    ("secrets: [HF_TOKEN]", "secrets: [hf_token]", "secrets[0]", "the name of a secret, never its value"),
    ("secrets: [HF_TOKEN]", "secrets: [GITHUB_TOKEN]", "secrets[0]", "the name of a secret"),
    ("WANDB_PROJECT: levanter", "WANDB_PROJECT: '${{ secrets.X }}'", "env.WANDB_PROJECT", "without expressions"),
    ("priority: first", "priority: urgent", "priority", "one of first, normal"),
    ("    kind: training", "    kind: inference", "runs[1].kind", "one of integration, training"),
    ("    accelerator: v4-32", "    accelerator: v4-33", "runs[0].accelerator", "accelerator type of the catalogue"),
    ("      - levanter.main.train_lm", "      - levanter; rm", "runs[0].command[2]", "one word of a command"),
    ("      - levanter.main.train_lm", "      - $HOME", "runs[0].command[2]", "one word of a command"),
    # Several values, and what is around them.
    ("  - file: marin-unit-tests.yaml", "  - file: marin-docs.yaml", "tests[1].file", "another entry makes this file"),
    ("  - file: marin-docs.yaml", "  - file: stale.yml", "kept[2].file", "shared"),
    ("    name: Marin - Docs", "    name: Marin - Tests", "kept[2].name", "another workflow has this name"),
    ("stack: ci\n", "stack: cj\n", "stack", "no stack has this name"),
    ("stack: ci\n", "stack: training\n", "stack", "the stack lets no workflow of GitHub in"),
    ("      - job: cpu-ray-tests", "      - job: tpu-tests", "suites[1].job", "another job of the file has this id"),
    ("where: [tpu-ci]", 'where: [tpu-ci]\n        python: ["3.11"]', "suites[1].python", "says which Python"),
    ("where: [tpu-ci]", 'where: [tpu-ci]\n        node: "22"', "suites[1].node", "says which Node"),
    ('        python: ["3.11"]\n', "", "suites[0]", "the suite runs on GitHub's runners and names no Python"),
    ("        priority: first\n", "        leave_free: 1\n        priority: first\n", "leave_free", "has no effect"),
    ("        extras: [tpu]\n", "", "suites[1]", "no library that drives"),
    ("where: github-hosted\n", "where: github-hosted\n        leave_free: 1\n", "leave_free", "has no effect"),
    ("        priority: first\n", "        leave_free: -1\n", "leave_free", "a number of VMs"),
    ("images: [cluster]", "images: [clutser]", "groups[0].images[0]", "an image of images/images.yaml"),
    ("images: [cluster]", "images: [controller]", "groups[0].images[0]", "that is built from marin-community/marin"),
    ("images: [cluster]", "images: [cluster, levanter-base]", "groups[0].images", "built by two builders"),
    ("images: [cluster]", "images: [cluster, tpu-ci]", "groups[1].images[0]", "the image is in two groups"),
    ("      - {job: marin-tpu-ci-image, images: [tpu-ci]}\n", "", "images[0].groups", "no group builds the image"),
    ("    image: levanter-incremental", "    image: cluster", "runs[0].image", "that goes to GitHub's registry"),
    ("    image: levanter-incremental", "    image: levanter-cluster", "runs[0].image", "does not name this run"),
    ("    vm: train-v4", "    vm: train-v5", "runs[0].vm", "no stack has this pool"),
    ("    vm: train-v4", "    vm: tpu-v4", "runs[0].vm", "tpu-v4 has v4-8"),
    ("    vm: train-v4", "    vm: tpu-v5p", "runs[0].vm", "tpu-v5p has v5p-8"),
    ("{WANDB_API_KEY: wandb-api-key}", "{WANDB_API_KEY: wandb}", "WANDB_API_KEY", "pool/train-v4 does not let"),
    (GPT2, "  - file: levanter-gpt2.yaml\n", "runs[0].file", "the stack lets this workflow make VMs as"),
    (GPT2, "  - file: levanter-gpt2.yaml\n", "images[0].starts[0]", "no run of this specification has this file"),
    ("follows: Levanter - Tests", "follows: Run Tests", "publish[0].follows", "no workflow of this name to follow"),
    ("    name: Levanter - Tests", "    name: Levanter tests", "images[0]", "not a workflow of this repository"),
    ("package: levanter\n    markers", "package: levantar\n    markers", "accepted_gaps[0]", "has no suites"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "place", "rule"), REFUSED, ids=lambda text: text.strip()[:40])
def test_a_mistake_is_refused_at_its_line(before: str, after: str, place: str, rule: str) -> None:
    with pytest.raises(ConfigError) as refused:
        monorepo.spec((before, after))
    said = [str(problem) for problem in refused.value.problems]
    found = [each for each in said if place in each.partition("\n")[0] and rule in each]
    assert found, "\n".join(said)
    assert re.match(r"workflows/spec/marin\.yaml:\d+ ", found[0])
    assert "\n  write: " in found[0]


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        monorepo.spec(("follows: Levanter - Tests", "follows: X"), ("images: [cluster]", "images: [clutser]"))
    assert [(problem.subject.split(" ")[1], problem.value) for problem in refused.value.problems] == [
        ("images[0].groups", ""),
        ("images[0].groups[0].images[0]", "clutser"),
        ("publish[0].follows", "X"),
    ]


def test_a_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"line \d+ has this key already"):
        monorepo.spec(("branch: main\n", "branch: main\nbranch: main\n"))


def test_a_specification_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="no specification named nothing") as refused:
        load_spec(the_lab(), "nothing", monorepo.world())
    assert "marin" in str(refused.value)


@pytest.mark.parametrize("name", spec_names(the_lab()))
def test_every_committed_specification_holds_every_rule(name: str) -> None:
    assert load_spec(the_lab(), name, monorepo.world()).name == name


def test_a_line_is_where_its_key_is_written() -> None:
    spec = monorepo.unedited()
    line = spec.line("tests", 0, "suites", 3)
    assert line.key == "tests[0].suites[3]"
    assert monorepo.text().splitlines()[line.line - 1].strip() == "- job: tpu-tests"
    assert str(line) == f"workflows/spec/marin.yaml:{line.line} tests[0].suites[3]"


def test_what_is_a_default_is_told_where_its_entry_stands() -> None:
    spec = monorepo.unedited()
    assert spec.line("tests", 0, "suites", 0, "node").line == spec.line("tests", 0, "suites", 0).line


def test_seven_of_the_labs_nineteen_files_go_and_two_come() -> None:
    declared = monorepo.unedited().declared
    made = [
        each.file for section in (declared.tests, declared.images, declared.runs, declared.publish) for each in section
    ]
    assert len(made) + len(declared.kept) == 19 - 7 + 2
    assert {"levanter-tests.yaml", "docker-images.yaml"} <= set(made)


def test_no_specification_is_read_from_nothing() -> None:
    with pytest.raises(ConfigError):
        read_spec("", "marin", monorepo.SOURCE, monorepo.world())
