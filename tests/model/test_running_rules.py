"""What a stack file may say of runners, the controller and fallbacks, and what follows of it."""

from __future__ import annotations

from infra.model import fleet
from infra.model.ledger import accounts
from infra.model.manifest import manifest
from tests.model.given import parse, pool, refusals, stack_text

SECRETS = "- {name: app-key, readers: [broker]}\n"
APP = "app: {id: 1, installation: 2, key_secret: app-key}\n"
IMAGE = f"us-central1-docker.pkg.dev/my-lab/images/controller@sha256:{'a' * 64}"
QUOTA = "- {project: my-lab, zone: us-central1-a, generation: v5e, kind: preemptible, chips: %d}\n"
AWAY = "[{zone: us-central1-a, capacity: spot}]"


def running(runners: str = APP, **sections: str) -> str:
    return stack_text(runners=runners, **({"secrets": SECRETS} | sections))


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
