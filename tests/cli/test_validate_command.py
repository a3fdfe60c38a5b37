"""`./tidepool validate` and `schema`: stack files judged before a commit, and what editors know of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Checkout
from tests.synthetic_lab import lend


def test_right_files_are_said_to_be_right(checkout: Checkout) -> None:
    assert checkout.ok("validate").stdout == "ci, nightly, training: valid\n"
    assert checkout.json("validate", "nightly") == {"stacks": ["nightly"], "problems": [], "unchecked": {}, "exit": 0}


UNREAD = "2 stacks not checked: nightly, training (they read ci)"
LIMIT = (
    "  tidepool:quotas:\n    - {project: hai-gcp-models, zone: ZONE, generation: KIND, chips: 8, kind: preemptible}\n"
)
NIGHTS = "windows: [{name: n, start: 0 4 * * *, duration: 2h, time_zone: UTC, adds: {us-central1-b: 99}}]"
MISTAKES: dict[str, tuple[str, str, str, str, str, str, str]] = {
    # what is wrong: (stack, text of its file, the edit, path, problem, what to write, the last line)
    "a zone that the generation does not have": (
        "ci", "us-central2-b: 1", "us-central2-z: 1", 'tidepool:pools[2].zones.us-central2-z: "us-central2-z"',
        "not a zone of the catalogue that has v4", "us-central2-b", UNREAD,
    ),
    "a zone that is mistyped": (
        "ci", "us-west4-a: 2", "us-wset4-a: 2", 'tidepool:pools[0].zones.us-wset4-a: "us-wset4-a"',
        "not a zone of the catalogue that has v5e", "us-west4-a, or one of us-central1-a, ", UNREAD,
    ),
    "a region of the registries": (
        "ci", "      - europe-west4\n", "      - europe-west9\n", 'tidepool:registries.regions[0]: "europe-west9"',
        "not one of the six regions of image repositories", "europe-west4, or one of ", UNREAD,
    ),
    "a section that is mistyped": (
        "ci", "tidepool:pools:", "tidepol:pools:", "tidepol:pools",
        "no such key: tidepol:pools", "tidepool:pools, or a key of docs/stack-file.md; or remove the line", UNREAD,
    ),
    "a key that is mistyped": (
        "ci", "runtime_override:", "runtime_overide:", "tidepool:pools[0].runtime_overide: {",
        "no such key: runtime_overide", "runtime_override, or a key of docs/stack-file.md; or remove the line", UNREAD,
    ),
    "a size that does not exist": (
        "ci", "accelerator: v5p-8", "accelerator: v5p-9", 'tidepool:pools[1].accelerator: "v5p-9"',
        "not an accelerator type of the catalogue", "v5p-8, or one that `./tidepool schema` lists", UNREAD,
    ),
    "a reader of a secret": (
        "ci", "readers: []", "readers: [pool/tpu-v5]", 'tidepool:secrets[1].readers[0]: "pool/tpu-v5"',
        "this stack has no such identity", "pool/tpu-v5p, or one of pool/tpu-ci, pool/tpu-v4, pool/tpu-v6e", "",
    ),
    "a pool that no stack has": (
        "ci", "pool: train-v4", "pool: trian-v4", 'tidepool:github.run_makers[0].pool: "trian-v4"',
        "no stack declares a pool of this name", "train-v4, or one of ", "",
    ),
    "a pool's name in another stack": (
        "ci", "- name: tpu-v4\n", "- name: train-v4\n", 'tidepool:pools[2].name: "train-v4"',
        "two pools of one project have this name", "another name", "",
    ),
    "a secret that any pull request reaches": (
        "nightly", "config:\n", "config:\n  tidepool:secrets: [{name: s, readers: [pool/nightly-v6e]}]\n",
        'tidepool:secrets[0].readers[0]: "pool/nightly-v6e"',
        "pool nightly-v6e has trust fork: any pull request could read the secret", "remove the reader", "",
    ),
    "more VMs than a limit has": (
        "ci", "us-west4-a: 2\n", "us-west4-a: 3\n" , "tidepool:pools[0].zones.us-west4-a",
        "v5e preemptible quota exceeded in us-west4-a: ci/tpu-ci 3 x 4 = 12, together 12 of 8 chips; ",
        "counts that take 4 chips less, or the preemptible quota's true size", "",
    ),
    "more VMs of runs than a limit has": (
        "nightly", "at_once: 3", "at_once: 9", "tidepool:runs.at_once",
        "v6e preemptible quota exceeded in us-central1-b: nightly/nightly-v6e runs 9 x 1 = 9, together 9 of 8 chips; ",
        "counts that take 1 chip less, or the preemptible quota's true size", "",
    ),
    "more VMs of a window than a limit has": (
        "nightly", "trust: fork", f"trust: fork\n      {NIGHTS}", "tidepool:pools[0].windows[0].adds.us-central1-b",
        "v6e preemptible quota exceeded in us-central1-b at ", "windows that do not meet then, fewer VMs in them, or ",
        "",
    ),
    "more slices than a limit has": (
        "training", "buffer: 0\n      maximum: 4\n", "buffer: 0\n      maximum: 99\n", "tidepool:slices[0].maximum",
        "v4 preemptible quota exceeded in us-central2-b: ", "counts that take ", "",
    ),
}  # fmt: skip
LIMITED = {"ci": ("us-west4-a", "v5e"), "nightly": ("us-central1-b", "v6e"), "training": ("us-central2-b", "v4")}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_mistake_is_one_problem_at_its_line_with_what_to_write(tmp_path: Path, mistake: str) -> None:
    stack, before, after, path, problem, fix, last = MISTAKES[mistake]
    checkout = Checkout(lend(tmp_path))
    checkout.edit(stack, before, after)
    if "limit" in mistake:
        zone, kind = LIMITED[stack]
        checkout.edit(
            stack, "  tidepool:pools:", LIMIT.replace("ZONE", zone).replace("KIND", kind) + "  tidepool:pools:"
        )
    line = checkout.text(stack).partition(after)[0].count("\n") + after.rstrip("\n").count("\n") + 1
    refused = checkout.run("validate", *([] if last else [stack]))
    first, rule, write, *rest = refused.stderr.splitlines()
    assert refused.exit_code == 2
    assert first.startswith(f"stacks/Pulumi.{stack}.yaml:{line} {path}")
    assert rule.startswith(f"  problem: {problem}")
    assert write.startswith(f"  write: {fix}")
    assert rest == (["", last] if last else [])


def test_a_file_that_others_read_and_that_is_gone_is_reported_once(tmp_path: Path) -> None:
    checkout = Checkout(lend(tmp_path))
    checkout.path("ci").unlink()
    refused = checkout.run("validate")
    assert refused.stderr.count("problem: ") == 1
    assert refused.stderr.startswith("stacks/Pulumi.ci.yaml\n")
    assert refused.stderr.endswith(f"\n{UNREAD}\n")
    alone = json.loads(checkout.run("validate", "nightly", "--json").stdout)
    assert alone["unchecked"] == {"nightly": ["ci"]}
    assert [each["subject"] for each in alone["problems"]] == ["stacks/Pulumi.ci.yaml"]
    assert "1 stack not checked: nightly (it reads ci)" in checkout.run("preview", "nightly", "--cloud", "local").stderr
