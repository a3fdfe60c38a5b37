"""What a stack file may not say. Each refusal names its place, the value, the rule and what to write."""

from __future__ import annotations

import pytest

from infra.model.errors import ConfigError
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from tests.model.given import HEAD, POOL, SOURCE, line_of, parse, pool, refusals, sibling, stack_text, the_refusal

POOLS = "tidepool:pools"


def test_the_small_right_file_is_accepted() -> None:
    assert parse(stack_text()).pools[0].slices == 2


# One value


@pytest.mark.parametrize(
    ("fields", "path", "said"),
    [
        ({"accelerator": "v5litepod-5"}, "accelerator", "v5litepod-4"),
        ({"accelerator": "v2-8"}, "accelerator", "v4-8"),
        ({"accelerator": "8"}, "accelerator", "such as v5litepod-4"),
        ({"zones": "{us-wst4-a: 1}"}, "zones.us-wst4-a", "us-west4-a"),
        ({"zones": "{us-central2-b: 1}"}, "zones.us-central2-b", "us-west4-a"),
        ({"zones": "{us-east1-c: 1}"}, "zones.us-east1-c", "unlisted_zone: {us-east1-c"),
        ({"zones": "{us-west4-a: -1}"}, "zones.us-west4-a", "0 to 10000"),
        ({"zones": "{us-west4-a: 1.5}"}, "zones.us-west4-a", "whole number"),
        ({"zones": "{us-west4-a: 2.0}"}, "zones.us-west4-a", "whole number"),
        ({"zones": "{us-west4-a: true}"}, "zones.us-west4-a", "not true or false"),
        ({"zones": "{us-west4-a: '2'}"}, "zones.us-west4-a", "without quotes"),
        ({"zones": "{us-west4-a: two}"}, "zones.us-west4-a", "without quotes"),
        ({"zones": "{us-west4-a: 10001}"}, "zones.us-west4-a", "0 to 10000"),
        ({"zones": "{us-west4-a: }"}, "zones.us-west4-a", "a value"),
        ({"zones": "{}"}, "zones", "us-west4-a: 0"),
        ({"zones": "[us-west4-a]"}, "zones", "key: value"),
        ({"name": "Tpu"}, "name", "such as tpu-ci"),
        ({"name": "a_b"}, "name", "such as tpu-ci"),
        ({"name": "ends-"}, "name", "such as tpu-ci"),
        ({"name": "a" * 64}, "name", "such as tpu-ci"),
        ({"name": "a" * 51}, "name", "at most 50 characters"),
        ({"name": "12"}, "name", '"12", in quotes'),
        ({"capacity": "cheap"}, "capacity", "on-demand, spot"),
        ({"capacity": "{spot: true, reserved: r}"}, "capacity", "on-demand, spot"),
        ({"capacity": "[spot, reserved]"}, "capacity", "on-demand, spot"),
        ({"capacity": "{reserved: R_1}"}, "capacity", "{reserved: NAME}"),
        ({"capacity": "{reserved: gone}"}, "capacity.reserved", "declare it"),
        ({"trust": "everyone"}, "trust", "one of fork, member, protected"),
        ({"label": "self-hosted"}, "label", "another label"),
        ({"name": "linux"}, "label", "another label"),
        ({"label": "ubuntu-latest"}, "label", "another label"),
        ({"label": "two words"}, "label", "one label an item"),
        ({"labels": "['[self-hosted, tpu]']"}, "labels[0]", "never a whole runs-on"),
        ({"labels": "[tpu, tpu]"}, "labels[1]", "remove one"),
        ({"labels": "[tpu, TPU]"}, "labels[1]", "remove one"),
        ({"accelerator": "v5e"}, "accelerator", "v5litepod-1, or one that"),
        ({"reserved": "gold"}, "reserved", "{reserved: NAME}"),
        ({"spot": "true"}, "spot", "capacity: on-demand, spot"),
        ({"labels": "[other]"}, "labels[0]", "remove it"),
        ({"labels": "tpu"}, "labels", "a list"),
        ({"serves": "[marin]"}, "serves[0]", "owner/name"),
        ({"serves": "[a/b, A/B]"}, "serves[1]", "remove one"),
        ({"unlisted_zone": "{us-west4-a: because}"}, "unlisted_zone.us-west4-a", "remove the line"),
        ({"unlisted_zone": "{us-central2-b: because}"}, "unlisted_zone.us-central2-b", "remove the line"),
        ({"zones": "{us-east1-c: 1}", "unlisted_zone": "{us-east1-c: ' '}"}, "unlisted_zone.us-east1-c", "sentence"),
        ({"runtime_override": "{version: v2-alpha-tpuv5}"}, "runtime_override.reason", "reason"),
        ({"runtime_override": "{version: v2-alpha-tpuv5-lite, reason: x}"}, "runtime_override.version", "remove"),
        ({"runtime_override": ""}, "runtime_override", "remove the line"),
        ({"label": ""}, "label", "remove the line"),
        ({"trust": None}, "trust", "trust: and its value"),
        ({"lables": "[tpu]"}, "lables", "labels"),
    ],
)
def test_a_wrong_value_in_a_pool_is_refused(fields: dict[str, object], path: str, said: str) -> None:
    problem = next(iter(refusals(stack_text(pools=pool(**fields)))))
    assert problem.subject.endswith(f" {POOLS}[0].{path}")
    assert said in problem.fix or said in problem.rule, str(problem)


@pytest.mark.parametrize(
    "key",
    [
        "chips",
        "hosts",
        "vms",
        "topology",
        "price",
        "runtime",
        "runtime_version",
        "machine_type",
        "generation",
        "slices",
    ],
)
def test_a_derived_value_cannot_be_written(key: str) -> None:
    problem = the_refusal(stack_text(pools=pool(**{key: "4"})))
    assert problem.subject.endswith(f"{POOLS}[0].{key}")
    assert "comes from the catalogue and cannot be set" in problem.rule
    assert "remove the line" in problem.fix
    assert ("runtime_override" in problem.fix) == key.startswith("runtime")


@pytest.mark.parametrize(
    ("section", "block", "path"),
    [
        ("registries", "{regions: [us-west1], repositories: []}", "registries.regions[0]"),
        ("registries", "{regions: [us-west4, us-west4], repositories: []}", "registries.regions[1]"),
        ("registries", "{regions: [], repositories: [{name: a}, {name: a}]}", "registries.repositories[1].name"),
        ("registries", "{regions: [], repositories: [{name: A}]}", "registries.repositories[0].name"),
        (
            "registries",
            "{regions: [], repositories: [{name: a, cleanup: {delete_older_than: 30}}]}",
            "registries.repositories[0].cleanup.delete_older_than",
        ),
        (
            "registries",
            "{regions: [], repositories: [{name: a, cleanup: {delete_older_than: 30d, keep_newest: 0}}]}",
            "registries.repositories[0].cleanup.keep_newest",
        ),
        ("mirrors", "[{name: m, upstream: docker-hub, locations: [asia]}]", "mirrors[0].locations[0]"),
        ("mirrors", "[{name: m, upstream: docker-hub, locations: [us-west4]}]", "mirrors[0].locations[0]"),
        ("mirrors", "[{name: m, upstream: ghcr.io, locations: [us]}]", "mirrors[0].upstream"),
        ("mirrors", "[{name: m, upstream: docker-hub, locations: [us, us]}]", "mirrors[0].locations[1]"),
        ("mirrors", "[{name: m, upstream: docker-hub, locations: []}]", "mirrors[0].locations"),
        ("mirrors", "{name: m, upstream: docker-hub, locations: [us]}", "mirrors"),
        ("mirrors", "", "mirrors"),
        ("registries", "[marin]", "registries"),
        ("registries", "", "registries"),
        ("registry_stack", "organization/tidepool/ci", "registry_stack"),
        ("secrets", "[{name: a b, readers: [broker]}]", "secrets[0].name"),
        ("secrets", "[{name: s, readers: [everyone]}]", "secrets[0].readers[0]"),
        ("secrets", "[{name: s, readers: [pool/gone]}]", "secrets[0].readers[0]"),
        ("secrets", "[{name: s, readers: [broker, broker]}]", "secrets[0].readers[1]"),
        ("secrets", "[{name: s, readers: [broker]}, {name: s, readers: []}]", "secrets[1].name"),
        ("vm_labels", "{tidepool-managed: x}", "vm_labels.tidepool-managed"),
        ("vm_labels", "{a: true}", "vm_labels.a"),
        ("vm_labels", "{a: Upper}", "vm_labels.a"),
        ("registry_stack", "ci", "registry_stack"),
        ("reservations", "[]\n", None),
    ],
)
def test_a_wrong_value_in_a_section_is_refused(section: str, block: str, path: str | None) -> None:
    text = stack_text(**{section: block + "\n"})
    if path is None:
        assert parse(text)
    else:
        assert the_refusal(text).subject.endswith(f" tidepool:{path}")


def test_a_mirror_says_why_it_keeps_nothing() -> None:
    block = "[{name: m, upstream: docker-hub, locations: [us], cleanup: {delete_older_than: 3d, keep_newest: 16}}]\n"
    problem = the_refusal(stack_text(mirrors=block))
    assert problem.subject.endswith(" tidepool:mirrors[0].cleanup.keep_newest")
    assert "pin the upstream's mutable tags" in problem.rule


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("gcp:project: my-lab", "gcp:project: Lab", "gcp:project"),
        ("gcp:project: my-lab", "gcp:zone: us-west4-a", "gcp:project"),
        ("owner: lab", "owner: The Lab", "tidepool:owner"),
        ("owner: lab", "owner:", "tidepool:owner"),
        ("owner: lab", "ownr: lab", "tidepool:ownr"),
        ("name: my-lab-ci", "name: Bucket", "tidepool:bucket.name"),
        ("name: my-lab-ci", "name: google-ci", "tidepool:bucket.name"),
        ("location: us", "location: 'U S'", "tidepool:bucket.location"),
    ],
)
def test_a_wrong_value_in_the_head_is_refused(old: str, new: str, path: str) -> None:
    text = stack_text().replace(old, new)
    assert any(problem.subject.endswith(f" {path}") for problem in refusals(text))


# Keys


def test_a_key_without_a_namespace_is_refused_with_its_full_name() -> None:
    assert the_refusal(HEAD + "  pools: []\n").fix == "tidepool:pools"


def test_a_key_of_another_namespace_is_refused() -> None:
    assert "aws" in the_refusal(HEAD + "  aws:region: x\n").subject


def test_settings_of_google_and_pulumi_are_accepted() -> None:
    head = "encryptionsalt: v1:x\nsecretsprovider: gcpkms://x\nencryptedkey: abc\nenvironment: [a]\n"
    assert parse(
        head + HEAD + "  gcp:region: us-west4\n  gcp:batching: {enableBatching: false}\n  pulumi:tags: {a: b}\n"
    )


def test_the_reason_for_an_unlisted_zone_may_outlive_the_zones_line() -> None:
    assert parse(stack_text(pools=pool(unlisted_zone="{us-east1-c: because}"))).pools[0].slices == 1


@pytest.mark.parametrize("key", ["pools", "tidepool:pools"])
def test_a_key_beside_config_is_refused(key: str) -> None:
    assert the_refusal(f"{key}: []\n" + HEAD).fix == "move it below config:, as tidepool:pools"


def test_a_derived_word_elsewhere_is_just_an_unknown_key() -> None:
    assert "no such key" in the_refusal(stack_text(regions="[us-west4]\n")).rule


def test_an_encrypted_value_is_refused_since_no_secret_stands_in_a_stack_file() -> None:
    assert "a secret in configuration" in the_refusal(HEAD + "  tidepool:token: {secure: v1:abc}\n").rule


def test_an_encrypted_value_within_another_is_refused_and_not_repeated() -> None:
    for pools, path in (
        (pool(labels="[tpu, {secure: v1:abc}]"), "[0].labels[1]"),
        (POOL + "- {secure: v1:abc}\n", "[1]"),
        ("{secure: v1:abc}\n", ""),
    ):
        problem = the_refusal(stack_text(pools=pools))
        assert problem.subject.endswith(f" {POOLS}{path}")
        assert "a secret in configuration" in problem.rule
        assert "v1:abc" not in str(problem)


def test_a_label_that_is_called_secure_beside_another_is_no_encrypted_value() -> None:
    assert parse(stack_text(vm_labels='{secure: "true", team: tpu}\n')).vm_labels["secure"] == "true"


def test_a_value_beside_the_name_of_a_secret_is_refused_and_not_repeated() -> None:
    problem = the_refusal(stack_text(secrets="[{name: s, readers: [broker], value: hunter2}]\n"))
    assert problem.subject.endswith("secrets[0].value")
    assert "hunter2" not in str(problem)


@pytest.mark.parametrize("text", ["", "# only this\n", "config:\n", "config: []\n", "other: 1\n"])
def test_a_file_without_configuration_is_refused(text: str) -> None:
    assert any("config" in problem.rule + problem.fix for problem in refusals(text))


@pytest.mark.parametrize("section", ["pools", "reservations", "quotas", "mirrors", "secrets"])
def test_a_section_that_is_no_list_is_refused_once(section: str) -> None:
    text = HEAD + f"  tidepool:{section}: text\n"
    assert the_refusal(text).subject.endswith(f"tidepool:{section}")


def test_a_pool_that_is_no_mapping_is_refused_and_the_next_is_still_read() -> None:
    problems = refusals(stack_text(pools="- text\n" + pool(accelerator="v9-1")))
    assert [problem.subject.rpartition(" ")[2] for problem in problems] == [f"{POOLS}[0]", f"{POOLS}[1].accelerator"]


def test_tabs_and_duplicate_keys_are_refused_with_their_lines() -> None:
    tabbed = stack_text().replace("    us-west4-a: 2", "\tus-west4-a: 2")
    assert the_refusal(tabbed).subject == f"{SOURCE}:{line_of(tabbed, chr(9))}"
    doubled = stack_text(pools=POOL + "  trust: fork\n")
    assert the_refusal(doubled).subject == f"{SOURCE}:{line_of(doubled, 'trust: fork')} tidepool:pools[0].trust"


# Several values


def test_two_pools_of_one_name_are_refused() -> None:
    problem = the_refusal(stack_text(pools=POOL + pool(name="tpu-ci", label="elsewhere")))
    assert problem.subject.endswith(f"{POOLS}[1].name")
    assert "pools[0]" in problem.rule


def test_a_pool_name_of_a_sibling_stack_in_the_same_project_is_refused() -> None:
    problems = refusals(stack_text(), siblings=(sibling(),))
    assert any("stack nightly" in problem.rule and problem.subject.endswith("name") for problem in problems)


def test_a_pool_name_of_a_stack_in_another_project_is_free() -> None:
    other = sibling(project="other-lab", pools=POOL + "  label: elsewhere\n")
    assert parse(stack_text(), siblings=(other,))


def test_a_routing_label_of_a_pool_of_the_same_name_in_another_project_is_refused() -> None:
    """A fork's pull request would choose the protected pool by it: GitHub knows no projects."""
    other = sibling(project="other-lab", pools=POOL.replace("member", "protected"))
    problem = the_refusal(stack_text(pools=POOL.replace("member", "fork")), siblings=(other,))
    assert problem.subject.endswith(f"{POOLS}[0].label")
    assert "pool tpu-ci of stack nightly" in problem.rule


def test_a_routing_label_of_another_pool_is_refused_whatever_its_case() -> None:
    problem = the_refusal(stack_text(pools=POOL + pool(label="TPU-CI")))
    assert problem.subject.endswith(f"{POOLS}[1].label")
    assert "pool tpu-ci" in problem.rule


def test_a_label_that_is_the_name_of_another_pool_is_refused() -> None:
    problem = the_refusal(stack_text(pools=pool(name="a", label="gold") + pool(name="gold")))
    assert problem.subject.endswith(f"{POOLS}[1].label")
    assert "pool a has this routing label" in problem.rule


def test_another_pools_routing_label_among_the_shared_ones_is_refused() -> None:
    problem = the_refusal(stack_text(pools=POOL + pool(labels="[tpu, tpu-ci]")))
    assert problem.subject.endswith(f"{POOLS}[1].labels[1]")


def test_a_routing_label_of_a_sibling_stack_is_refused() -> None:
    other = sibling(pools=pool(name="night", label="gold"))
    for text in (stack_text(pools=pool(label="gold")), stack_text(pools=pool(labels="[gold]"))):
        assert "of stack nightly" in the_refusal(text, siblings=(other,)).rule


def test_shared_labels_may_be_shared() -> None:
    labels = "[tpu, self-hosted]"
    assert parse(stack_text(pools=pool(name="a", labels=labels) + pool(name="b", labels=labels)))


DISK = "[{source_disk: projects/p/zones/us-central2-b/disks/d, mode: read-write}]"
V4 = {"accelerator": "v4-8", "zones": "{us-central2-b: 1}"}


def test_a_read_write_disk_on_a_multi_host_slice_is_refused() -> None:
    problem = the_refusal(stack_text(pools=pool(**V4 | {"accelerator": "v4-16"}, data_disks=DISK)))
    assert problem.subject.endswith("data_disks[0].mode")
    assert "v4-16 has 2" in problem.rule
    assert parse(stack_text(pools=pool(**V4 | {"accelerator": "v4-16"}, data_disks=DISK.replace("write", "only"))))


def test_a_read_write_disk_on_two_vms_is_refused() -> None:
    assert parse(stack_text(pools=pool(**V4, data_disks=DISK)))
    assert "one VM" in the_refusal(stack_text(pools=pool(**V4 | {"zones": "{us-central2-b: 2}"}, data_disks=DISK))).rule


def test_a_read_write_disk_on_a_pool_that_any_pull_request_reaches_is_refused() -> None:
    problem = the_refusal(stack_text(pools=pool(**V4, trust="fork", data_disks=DISK)))
    assert problem.subject.endswith("data_disks[0].mode")
    assert "a pool of trust fork may not write to a disk: any pull request could write what others read" in problem.rule
    assert parse(stack_text(pools=pool(**V4, trust="fork", data_disks=DISK.replace("write", "only"))))


def test_a_disk_that_is_attached_twice_is_refused() -> None:
    one = "{source_disk: projects/p/zones/us-central2-b/disks/d}"
    problem = the_refusal(stack_text(pools=pool(**V4, data_disks=f"[{one}, {one}]")))
    assert problem.subject.endswith("data_disks[1].source_disk")


def test_a_disk_of_another_zone_is_refused() -> None:
    elsewhere = DISK.replace("us-central2-b", "us-west4-a")
    assert the_refusal(stack_text(pools=pool(**V4, data_disks=elsewhere))).subject.endswith("source_disk")


RESERVED = {"capacity": "{reserved: r}", "accelerator": "v4-32", "zones": "{us-central2-b: 2}"}


def reservation(**fields: object) -> str:
    usual: dict[str, object] = {
        "name": "r",
        "project": "my-lab",
        "zone": "us-central2-b",
        "generation": "v4",
        "chips": 32,
    }
    return "- {" + ", ".join(f"{key}: {value}" for key, value in (usual | fields).items()) + "}\n"


def test_a_reservation_that_is_just_large_enough_is_accepted() -> None:
    assert parse(stack_text(pools=pool(**RESERVED), reservations=reservation()))


def test_one_chip_over_a_reservation_is_refused_with_the_sum() -> None:
    pools = pool(**RESERVED) + pool(
        name="small", capacity="{reserved: r}", accelerator="v4-8", zones="{us-central2-b: 1}"
    )
    problem = the_refusal(stack_text(pools=pools, reservations=reservation(chips=40, held_elsewhere=5)))
    assert problem.subject.endswith("pools[0].zones.us-central2-b")
    assert f"the reservation is declared at {SOURCE}:17 tidepool:reservations[0].chips" in problem.rule
    assert "ci/other 2 x 16 = 32, ci/small 1 x 4 = 4, held elsewhere 5, together 41 of 40 chips" in problem.rule
    assert problem.fix.startswith("counts that take 1 chip less")


def test_chips_held_elsewhere_count() -> None:
    problem = the_refusal(stack_text(pools=pool(**RESERVED), reservations=reservation(held_elsewhere=1)))
    assert "held elsewhere 1" in problem.rule


def test_reserved_chips_of_a_sibling_stack_count() -> None:
    text = stack_text(pools=pool(**RESERVED), reservations=reservation())
    other = sibling(pools=pool(name="night", **RESERVED), reservations=reservation())
    assert "nightly/night 2 x 16 = 32" in the_refusal(text, siblings=(other,)).rule


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"zone": "us-central1-a", "generation": "v5p"}, "is in us-central1-a"),
        ({"project": "other-lab"}, "held by project other-lab"),
        ({"generation": "v5e", "zone": "us-west4-a"}, "is of v5e"),
        ({"zone": "us-west4-a"}, "us-west4-a has no v4"),
        ({"generation": "v3"}, "TPU generation"),
        ({"chips": -1}, "count of chips"),
        ({"chips": "true"}, "count of chips"),
    ],
)
def test_a_reservation_that_does_not_fit_its_pool_is_refused(fields: dict[str, object], said: str) -> None:
    problems = refusals(stack_text(pools=pool(**RESERVED), reservations=reservation(**fields)))
    assert any(said in problem.rule for problem in problems), ConfigError(problems)


def test_two_reservations_for_one_place_are_refused_since_a_vm_cannot_choose() -> None:
    both = reservation() + reservation(name="r2")
    assert "cannot choose" in the_refusal(stack_text(reservations=both)).rule


def test_stacks_that_declare_one_limit_differently_are_refused() -> None:
    other = sibling(pools="[]\n", reservations=reservation(name="r2", chips=64), quotas=quota(chips=9))
    text = stack_text(pools="[]\n", reservations=reservation(), quotas=quota() + quota(kind="on-demand"))
    assert [problem.subject.rpartition(":")[2] for problem in refusals(text, siblings=(other,))] == [
        "reservations[0]",
        "quotas[0]",
    ]
    assert "stack nightly declares it too, and otherwise: name r2, chips 64" in str(
        refusals(text, siblings=(other,))[0]
    )
    alike = sibling(pools="[]\n", reservations=reservation(held_elsewhere=0), quotas=quota())
    assert parse(text, siblings=(alike,))


def test_a_nearby_reservation_is_offered_for_a_name_that_is_none() -> None:
    text = stack_text(pools=pool(**RESERVED | {"capacity": "{reserved: gold}"}), reservations=reservation(name="gould"))
    assert the_refusal(text).fix == "gould"


def quota(**fields: object) -> str:
    usual: dict[str, object] = {
        "project": "my-lab",
        "zone": "us-west4-a",
        "generation": "v5e",
        "chips": 8,
        "kind": "preemptible",
    }
    return "- {" + ", ".join(f"{key}: {value}" for key, value in (usual | fields).items()) + "}\n"


def test_spot_and_preemptible_draw_on_one_quota_and_one_chip_over_it_is_refused() -> None:
    pools = (
        pool(name="a", capacity="spot") + pool(name="b", capacity="preemptible") + pool(name="c", capacity="on-demand")
    )
    assert parse(stack_text(pools=pools, quotas=quota()))
    problem = the_refusal(stack_text(pools=pools, quotas=quota(chips=7)))
    assert "preemptible quota" in problem.rule
    assert "ci/a 1 x 4 = 4, ci/b 1 x 4 = 4, together 8 of 7 chips" in problem.rule


def test_only_on_demand_draws_on_the_on_demand_quota() -> None:
    pools = pool(name="a", capacity="spot") + pool(name="c", capacity="on-demand")
    assert parse(stack_text(pools=pools, quotas=quota(kind="on-demand", chips=4)))
    assert the_refusal(stack_text(pools=pools, quotas=quota(kind="on-demand", chips=3)))


def test_a_quota_of_another_zone_or_project_is_not_drawn_on() -> None:
    limits = quota(zone="us-central1-a", chips=0) + quota(project="other-lab", chips=0)
    assert parse(stack_text(quotas=limits), siblings=(sibling(project="other-lab", pools="[]\n"),))


@pytest.mark.parametrize("key", ["quotas", "reservations"])
@pytest.mark.parametrize(
    ("siblings", "fix"),
    [((), "my-lab"), ((sibling(project="her-lab", pools="[]\n"),), "my-lab, or one of her-lab")],
)
def test_a_limit_of_a_project_that_no_stack_is_in_is_refused_with_those_that_are(
    key: str, siblings: tuple[StackConfig, ...], fix: str
) -> None:
    limit = "- {project: my-lap, zone: us-west4-a, generation: v5e, chips: 64, %s}\n"
    declared = {key: limit % ("kind: preemptible" if key == "quotas" else "name: lab")}
    problem = the_refusal(stack_text(**declared), siblings=siblings)
    assert problem.subject.endswith(f"tidepool:{key}[0].project")
    assert (problem.value, problem.rule) == ('"my-lap"', "no stack is in this project, so the limit would bind nothing")
    assert problem.fix == fix


def test_two_quotas_for_one_place_and_kind_are_refused() -> None:
    assert the_refusal(stack_text(quotas=quota() + quota(chips=9))).subject.endswith("quotas[1]")
    assert parse(stack_text(quotas=quota() + quota(kind="on-demand")))


def test_a_fork_pool_reads_no_secret() -> None:
    text = stack_text(pools=pool(trust="fork"), secrets="[{name: s, readers: [broker, pool/other]}]\n")
    problem = the_refusal(text)
    assert problem.subject.endswith("secrets[0].readers[1]")
    assert "has trust fork: any pull request could read the secret" in problem.rule
    assert parse(text.replace("trust: fork", "trust: member"))


def test_registries_of_its_own_and_of_another_stack_together_are_refused() -> None:
    text = stack_text(
        registries="{regions: [us-west4], repositories: []}\n", registry_stack="organization/tidepool/ci\n"
    )
    assert "and reads another's" in the_refusal(text).rule


def test_registries_of_a_stack_that_has_none_cannot_be_read() -> None:
    text = stack_text(registry_stack="organization/tidepool/nightly\n")
    assert "no registries" in the_refusal(text, siblings=(sibling(pools="[]\n"),)).rule
    own = "{regions: [us-west4], repositories: []}\n"
    assert parse(text, siblings=(sibling(pools="[]\n", registries=own),))
    assert parse(text.replace("/tidepool/", "/elsewhere/"), siblings=(sibling(pools="[]\n"),))


def test_a_stack_whose_network_names_are_too_long_is_refused() -> None:
    name = "a" * 46
    assert "network names" in the_refusal(stack_text(), stack=name).rule
    assert parse(stack_text(), stack="a" * 45)


def test_a_builder_reads_secrets_only_where_there_are_registries() -> None:
    text = stack_text(secrets="[{name: s, readers: [builder]}]\n")
    assert "this stack has no registries, and so no builder" in the_refusal(text).rule
    assert parse(text + "  tidepool:registries: {regions: [us-west4], repositories: []}\n")


@pytest.mark.parametrize(
    ("sections", "path"),
    [
        ({"secrets": "[{name: s, readers: []}]\n"}, "secrets[0].name"),
        ({"mirrors": "[{name: m, upstream: docker-hub, locations: [us]}]\n"}, "mirrors[0].name"),
        ({"registries": "{regions: [us-west4], repositories: [{name: r}]}\n"}, "registries.repositories[0].name"),
    ],
)
def test_a_name_that_google_knows_once_belongs_to_one_stack(sections: dict[str, str], path: str) -> None:
    problem = the_refusal(stack_text(**sections), siblings=(sibling(pools="[]\n", **sections),))
    assert problem.subject.endswith(f" tidepool:{path}")
    assert "stack nightly has a " in problem.rule
    assert parse(stack_text(**sections), siblings=(sibling(project="other-lab", pools="[]\n", **sections),))


def test_a_bucket_of_another_stack_is_refused_in_any_project() -> None:
    other = parse(stack_text(pools="[]\n").replace("project: my-lab", "project: other-lab"), stack="nightly")
    assert the_refusal(stack_text(), siblings=(other,)).subject.endswith("tidepool:bucket.name")


# All at once


def test_every_mistake_of_a_file_is_said_in_one_go_with_path_line_value_rule_and_fix() -> None:
    text = stack_text(
        pools=POOL.replace("us-west4-a: 2", "us-west4-a: -2")
        + pool(name="tpu-ci", accelerator="v6e-9", chips=8)
        + pool(zones="{us-cantral2-b: 1}", trust="fork", labels="[bad label, tpu-ci]"),
        secrets="[{name: s, readers: [root, pool/other]}]\n",
        mirrors="[{name: m, upstream: docker-hub, locations: [asia]}]\n",
    ).replace("owner: lab", "owner: The Lab")
    problems = refusals(text)
    found = [problem.subject.rpartition(" ")[2] for problem in problems]
    assert found == [
        "tidepool:owner",
        "tidepool:pools[0].zones.us-west4-a",
        "tidepool:pools[1].accelerator",
        "tidepool:pools[1].chips",
        "tidepool:pools[2].zones.us-cantral2-b",
        "tidepool:pools[2].labels[0]",
        "tidepool:secrets[0].readers[0]",
        "tidepool:mirrors[0].locations[0]",
    ]
    for problem in problems:
        place, line = problem.subject.split(" ")[0].split(":")
        assert place == SOURCE
        assert 0 < int(line) <= len(text.splitlines())
        assert problem.value
        assert problem.rule
        assert problem.fix
    assert problems[1].subject.startswith(f"{SOURCE}:{line_of(text, 'us-west4-a: -2')} ")


def test_mistakes_of_syntax_of_keys_and_of_values_are_said_in_the_same_go() -> None:
    text = "odd: 1\n" + stack_text(
        pools=POOL + "  trust: fork\n" + pool(accelerator="v9-9", zones="{us-west4-a: 017}"),
        secrets="[{name: s, readers: [pool/gone]}]\n",
    )
    text += "  tidepool:token: {secure: v1:abc}\n  tidepool:odd: 1\n  tidepool:pools: []\t# again\n"
    assert [problem.subject.removeprefix(f"{SOURCE}:") for problem in refusals(text)] == [
        "1 odd",
        f"{line_of(text, 'trust: fork')} {POOLS}[0].trust",
        f"{line_of(text, 'v9-9')} {POOLS}[1].accelerator",
        f"{line_of(text, '017')} {POOLS}[1].zones.us-west4-a",
        f"{line_of(text, 'token')} tidepool:token",
        f"{line_of(text, 'tidepool:odd')} tidepool:odd",
        f"{line_of(text, 'again')}",
        f"{line_of(text, 'again')} {POOLS}",
    ]


def test_a_mistake_within_the_registries_does_not_hide_the_others_there() -> None:
    block = "{regions: [us-west1, us-west4, us-west4], repositories: [{name: a}, {name: B, x: 1}, {name: a}]}\n"
    found = [problem.subject.rpartition(" ")[2] for problem in refusals(stack_text(registries=block))]
    assert found == [
        "tidepool:registries.regions[0]",
        "tidepool:registries.repositories[1].name",
        "tidepool:registries.repositories[1].x",
    ]


def test_a_stack_without_a_file_is_refused_with_those_that_have_one(tmp_path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.ci.yaml").write_text(stack_text())
    with pytest.raises(ConfigError, match=r"no stack named cj\n  write: one of ci"):
        load_stack(tmp_path, "cj")


def test_a_file_that_is_not_utf8_is_refused(tmp_path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.ci.yaml").write_bytes(b"# ci\nconfig: \xff\n")
    with pytest.raises(ConfigError, match=r"(?s)ci.yaml:2: byte 0xff.*UTF-8"):
        load_stack(tmp_path, "ci")
