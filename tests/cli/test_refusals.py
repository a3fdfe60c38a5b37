"""A stack file at fault: every command that needs it says everything at once, ends with 2, and changes nothing."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Checkout

COUNT = "        us-west4-a: 2\n"
POOL = "    - name: tpu-v4\n"
POOLS = "  tidepool:pools:\n"


def with_pool(*, sections: str = "", accelerator: str = "v4-8", trust: str = "member", more: str) -> str:
    """What stands in the place of POOLS to declare one more pool, of one slice in the zone of all v4."""
    item = f"name: more, accelerator: {accelerator}, zones: {{us-central2-b: 1}}, trust: {trust}, {more}"
    return f"{sections}{POOLS}    - {{{item}}}\n"


LIMIT = "project: hai-gcp-models, zone: us-central2-b, generation: v4, chips: 3"

BAD_EDITS = {
    "an unknown accelerator": ("accelerator: v4-8", "accelerator: v4-9", "not an accelerator type of the catalogue"),
    "an unknown zone": (COUNT, "        us-west4-q: 2\n", "not a zone of the catalogue"),
    "a zone without that generation": (COUNT, "        us-central2-b: 2\n", "us-central2-b"),
    "a zone that is only seen": (
        "      unlisted_zone:\n        us-east1-c:",
        "      unlisted_zone:\n        europe-west4-b:",
        "us-east1-c is not on Google's list",
    ),
    "a negative count": (COUNT, COUNT.replace("2", "-1"), "a whole number from 0"),
    "a fractional count": (COUNT, COUNT.replace("2", "1.5"), "a whole number from 0"),
    "a boolean count": (COUNT, COUNT.replace("2", "true"), "a whole number from 0"),
    "a count as text": (COUNT, COUNT.replace("2", '"2"'), "without quotes"),
    "a count above 10,000": (COUNT, COUNT.replace("2", "10001"), "10,000"),
    "a tab": (COUNT, "\t" + COUNT, "spaces"),
    "a duplicate key": (COUNT, COUNT + COUNT, "us-west4-a"),
    "a duplicate pool": (POOL, POOL.replace("tpu-v4", "tpu-v5p"), "tpu-v5p"),
    "a name too long": (POOL, POOL.replace("tpu-v4", "t" * 60), "name"),
    "a malformed name": (POOL, POOL.replace("tpu-v4", "Tpu_V4"), "lower-case"),
    "a derived value": (POOL, POOL + "      chips: 4\n", "chips"),
    "a region outside the six": ("      - us-east5\n", "      - asia-east1\n", "six regions"),
    "a mirror outside the multi-regions": (
        "      upstream: docker-hub\n      locations: [us, europe]",
        "      upstream: docker-hub\n      locations: [us-west4]",
        "multi-regions",
    ),
    "a routing label of another pool": (POOL, POOL + "      label: tpu-v5p\n", "label"),
    "a pool's name in another stack": (POOL, POOL.replace("tpu-v4", "train-v4"), "stack training"),
    "spot together with reserved": (
        POOLS,
        with_pool(more="capacity: {spot: true, reserved: r}"),
        "two kinds of capacity in one pool",
    ),
    "a read-write disk on a slice of several hosts": (
        POOLS,
        with_pool(
            accelerator="v4-16",
            more="capacity: spot,"
            " data_disks: [{source_disk: projects/p/zones/us-central2-b/disks/d, mode: read-write}]",
        ),
        "attaches to one host",
    ),
    "a chip over a reservation": (
        POOLS,
        with_pool(sections=f"  tidepool:reservations: [{{name: r, {LIMIT}}}]\n", more="capacity: {reserved: r}"),
        "ci/more 1 x 4 = 4, together 4 of 3 chips",
    ),
    "a chip over a quota": (
        POOLS,
        f"  tidepool:quotas: [{{kind: preemptible, {LIMIT}}}]\n{POOLS}",
        "together 52 of 3 chips",
    ),
    "a mirror that keeps the newest": (
        "      upstream: docker-hub\n      locations: [us, europe]\n      cleanup:\n",
        "      upstream: docker-hub\n      locations: [us, europe]\n      cleanup:\n        keep_newest: 16\n",
        "mutable tags",
    ),
    "a secret that any pull request reaches": (
        POOLS,
        with_pool(
            sections="  tidepool:secrets: [{name: s, readers: [pool/more]}]\n", trust="fork", more="capacity: spot"
        ),
        "has trust fork: any pull request could read the secret",
    ),
    "an unknown key": (POOL, POOL + "      colour: red\n", "colour"),
}


@pytest.mark.parametrize("what", BAD_EDITS)
def test_a_bad_edit_is_refused_and_changes_nothing(checkout: Checkout, what: str) -> None:
    before, after, said = BAD_EDITS[what]
    good = checkout.text("ci")
    checkout.edit("ci", before, after)
    try:
        for command in ("up", "preview"):
            result = checkout.run(command, "ci")
            assert result.exit_code == 2, result.output
            assert said in result.stderr
            assert "stacks/Pulumi.ci.yaml:" in result.stderr
            assert "Traceback" not in result.output
            assert not checkout.home.exists(), "nothing may be started or written for an invalid file"
    finally:
        checkout.path("ci").write_text(good)


def test_an_empty_file_is_refused(checkout: Checkout) -> None:
    good = checkout.text("ci")
    checkout.path("ci").write_text("")
    try:
        assert checkout.run("up", "ci").exit_code == 2
    finally:
        checkout.path("ci").write_text(good)


def test_all_mistakes_of_a_file_come_at_once(checkout: Checkout) -> None:
    good = checkout.text("ci")
    for what in ("an unknown accelerator", "a negative count", "a region outside the six", "an unknown key"):
        before, after, _ = BAD_EDITS[what]
        checkout.edit("ci", before, after)
    try:
        result = checkout.run("up", "ci", "--json")
    finally:
        checkout.path("ci").write_text(good)
    assert result.exit_code == 2
    assert result.stderr.endswith("4 problems; nothing was changed.\n")
    assert len(json.loads(result.stdout)["problems"]) == 4
    assert not checkout.home.exists()
