"""What a stack file may say of runners, the controller and fallbacks, and what follows of it."""

from __future__ import annotations

from infra.model.manifest import manifest
from tests.model.given import parse, pool, stack_text

SECRETS = "- {name: app-key, readers: [broker]}\n"
APP = "app: {id: 1, installation: 2, key_secret: app-key}\n"
IMAGE = f"us-central1-docker.pkg.dev/my-lab/images/controller@sha256:{'a' * 64}"
QUOTA = "- {project: my-lab, zone: us-central1-a, generation: v5e, kind: preemptible, chips: %d}\n"
AWAY = "[{zone: us-central1-a, capacity: spot}]"


def running(runners: str = APP, **sections: str) -> str:
    return stack_text(runners=runners, **({"secrets": SECRETS} | sections))


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
