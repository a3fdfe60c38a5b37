"""What a stack file may say of runners, the controller and fallbacks, and what follows of it."""

from __future__ import annotations

import pytest

from infra.model import fleet
from infra.model.ledger import accounts
from infra.model.manifest import manifest
from tests.model.given import parse, pool, refusals, stack_text, the_refusal

SECRETS = "- {name: app-key, readers: [broker]}\n"
APP = "app: {id: 1, installation: 2, key_secret: app-key}\n"
IMAGE = f"us-central1-docker.pkg.dev/my-lab/images/controller@sha256:{'a' * 64}"
QUOTA = "- {project: my-lab, zone: us-central1-a, generation: v5e, kind: preemptible, chips: %d}\n"
AWAY = "[{zone: us-central1-a, capacity: spot}]"


def running(runners: str = APP, **sections: str) -> str:
    return stack_text(runners=runners, **({"secrets": SECRETS} | sections))


def test_a_stack_that_says_nothing_of_them_has_the_usual_limits_and_runs_nothing() -> None:
    config = parse(stack_text())
    assert (config.runners.app, config.runners.boot_minutes, config.runners.job_minutes) == (None, 20, 120)
    assert (config.controller.every_minutes, config.controller.share, config.controller.image) == (2, 0.34, None)


@pytest.mark.parametrize(
    ("runners", "path", "said"),
    [
        ("boot_minutes: 0\n", "boot_minutes", "such as 20"),
        ("job_minutes: 7201\n", "job_minutes", "more than 7200"),
        ("boot_minutes: '20'\n", "boot_minutes", "whole number"),
        ("app:\n", "app", "remove the line"),
        ("app: {id: 0, installation: 2, key_secret: app-key}\n", "app.id", "such as 123456"),
        ("app: {id: 1, installation: 2}\n", "app.key_secret", "key_secret"),
        ("app: {id: 1, installation: 2, key_secret: ap-key}\n", "app.key_secret", "app-key"),
        (f"{APP}groups: {{everyone: g}}\n", "groups.everyone", "fork"),
        (f"{APP}groups: {{fork: g}}\n", "groups", "member: and the name"),
        (f"{APP}groups: {{fork: g, member: g}}\n", "groups.member", "has this runner group too"),
        ("apps: 1\n", "apps", "app"),
    ],
)
def test_a_wrong_value_of_runners_is_refused(runners: str, path: str, said: str) -> None:
    problem = the_refusal(running(runners))
    assert problem.subject.endswith(f" tidepool:runners.{path}")
    assert said in problem.fix or said in problem.rule, str(problem)


@pytest.mark.parametrize(
    ("controller", "path", "said"),
    [
        ("every_minutes: 7\n", "every_minutes", "divide an hour"),
        ("every_minutes: 0\n", "every_minutes", "divide an hour"),
        ("share: 0\n", "share", "above 0"),
        ("share: 1.5\n", "share", "up to 1"),
        ("replacements_per_hour: 0\n", "replacements_per_hour", "from 1"),
        ("grace_minutes: 5\nevery_minutes: 10\n", "grace_minutes", "10 or more"),
        ("region: us-central2\n", "region", "us-central1"),
        ("notify: [nobody]\n", "notify[0]", "such as"),
        ("notify: [a@b.org, A@b.org]\n", "notify[1]", "remove one"),
        (f"notify: [{', '.join(f'a{number}@b.org' for number in range(17))}]\n", "notify", "a group"),
        ("region: us-central1\nimage: controller:latest\n", "image", "sha256"),
        (f"image: {IMAGE}\n", "image", "region"),
        (f"region: us-central1\nimage: {IMAGE.replace('my-lab', 'other-lab')}\n", "image", "a copy in my-lab"),
    ],
)
def test_a_wrong_value_of_the_controller_is_refused(controller: str, path: str, said: str) -> None:
    problem = the_refusal(running(controller=controller))
    assert problem.subject.endswith(f" tidepool:controller.{path}")
    assert said in problem.fix or said in problem.rule, str(problem)


@pytest.mark.parametrize("readers", ["[controller]", "[broker, controller]", "[]"])
def test_the_apps_key_is_in_a_secret_that_the_broker_alone_reads(readers: str) -> None:
    problem = the_refusal(running(secrets=f"- {{name: app-key, readers: {readers}}}\n"))
    assert problem.fix == "readers: [broker] of secret app-key"


def test_a_broker_without_an_app_is_refused() -> None:
    assert "runners.app" in the_refusal(stack_text(controller=f"region: us-central1\nimage: {IMAGE}\n")).fix


def test_an_installation_serves_repositories_of_one_owner() -> None:
    pools = pool(serves="[lab/one, LAB/two, other/three]")
    assert the_refusal(running(pools=pools)).subject.endswith("pools[0].serves[2]")


@pytest.mark.parametrize(
    ("fallback", "path", "said"),
    [
        ("[{zone: us-central2-b, capacity: spot}]", "fallback[0].zone", "has no v5e"),
        ("[{zone: us-east1-c, capacity: spot}]", "fallback[0].zone", "unlisted_zone"),
        ("[{zone: us-west4-a, capacity: spot}]", "fallback[0]", "the fallback is the pool's own place"),
        ("[{zone: us-central1-a, capacity: spot}, {zone: us-central1-a, capacity: spot}]", "fallback[1]", "twice"),
        ("[{zone: us-central1-a, capacity: {reserved: gold}}]", "fallback[0].capacity.reserved", "declare it"),
        ("[{zone: us-central1-a}]", "fallback[0].capacity", "required"),
        ("[us-central1-a]", "fallback[0]", "a mapping"),
    ],
)
def test_a_fallback_that_cannot_be_is_refused(fallback: str, path: str, said: str) -> None:
    problem = the_refusal(stack_text(pools=pool(fallback=fallback)))
    assert problem.subject.endswith(f" tidepool:pools[0].{path}")
    assert said in problem.fix or said in problem.rule, str(problem)


def test_a_disk_does_not_move_with_a_fallback() -> None:
    disks = "[{source_disk: projects/p/zones/us-west4-a/disks/d}]"
    assert ", and the pool is in" in the_refusal(stack_text(pools=pool(fallback=AWAY, data_disks=disks))).rule


def test_a_limit_holds_every_vm_that_may_fall_back_on_it() -> None:
    pools = pool(zones="{us-west4-a: 2, us-central1-a: 1}", fallback=AWAY)
    (account,) = accounts(parse(stack_text(pools=pools, quotas=QUOTA % 12)))
    assert account.used == 12
    (problem,) = refusals(stack_text(pools=pools, quotas=QUOTA % 11))
    assert "ci/other (1 + 2 by fallback) x 4 = 12" in problem.rule


def test_a_slot_keeps_its_name_at_a_fallback_and_nothing_of_its_own_place() -> None:
    pools = pool(zones="{us-west4-a: 1, us-central1-a: 1}", fallback=AWAY)
    home, away = fleet.slots(parse(stack_text(pools=pools)))
    assert fleet.fallbacks(home) == (), "that is where it is"
    (place,) = fleet.fallbacks(away)
    assert (place.name, place.zone, place.region) == (away.name, "us-central1-a", "us-central1")
    assert str(place.capacity) == "spot"


def test_a_manifest_says_where_a_vm_falls_back_and_how_bold_the_controller_is() -> None:
    text = running(
        f"{APP}groups: {{member: tpu-member}}\nboot_minutes: 30\n",
        pools=pool(capacity="on-demand", fallback=AWAY),
        controller="share: 0.5\n",
    )
    made = manifest(parse(text), bundle="ab" * 32, startup_script="x", broker="https://broker.example")
    assert made["broker"] == "https://broker.example"
    assert made["controller"]["groups"] == {"member": "tpu-member"}
    assert (made["controller"]["boot_minutes"], made["controller"]["share"]) == (30, 0.5)
    (fallback,) = made["slots"][0]["fallbacks"]
    assert fallback["node"]["schedulingConfig"] == {"spot": True}
    assert fallback["node"]["networkConfig"]["subnetwork"].endswith(
        "regions/us-central1/subnetworks/tidepool-ci-us-central1"
    )
    assert fallback["node"]["metadata"]["tidepool-region"] == "us-central1"
