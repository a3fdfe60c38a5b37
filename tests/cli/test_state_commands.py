"""What the state has, by commands: targets by name, forget, adoption of what is named, and a cloud that is emptied.

The tests of this module run in order on one fleet, and each leaves it as it found it but for the last.
"""

from __future__ import annotations

from infra.fleet.google import Api, clients
from tests.cli.conftest import Checkout

PROJECT = "hai-gcp-models"
VM = "tpu-ci-us-west4-a-1"
V4 = "tpu-v4-us-central2-b-0"
IMAGES = "us-central1/marin"
NODES = f"projects/{PROJECT}/locations/us-west4-a/nodes"


def changed(document: dict) -> set[tuple[str, str]]:
    return {(step["op"], step["name"]) for step in document["steps"] if step["op"] != "same"}


# Targets


def test_a_target_is_a_vm_a_pool_or_a_pattern_by_name(upped: Checkout) -> None:
    good = upped.text("ci")
    upped.edit("ci", "accelerator: v5litepod-4", "accelerator: v5litepod-8")
    every = {f"tpu-ci-{zone}-{index}" for zone in ("europe-west4-b", "us-east1-c", "us-west4-a") for index in (0, 1)}
    for targets, wanted in (
        ([VM], {VM}),
        (["tpu-ci"], every),
        (["tpu-ci-us-*"], {each for each in every if "-us-" in each}),
        ([VM, "tpu-ci-europe-west4-b-0"], {VM, "tpu-ci-europe-west4-b-0"}),
    ):
        asked = [word for each in targets for word in ("--target", each)]
        document = upped.json("preview", "ci", *asked)
        assert {name for op, name in changed(document) if op == "replace"} == wanted
    said = upped.ok("preview", "ci", "--target", VM, "--cloud", "local").stdout
    assert said.endswith(f"next: ./tidepool up ci --cloud local --target {VM}\n"), "the same is applied, and no more"
    plan = upped.root / "a plan.json"
    said = upped.ok("preview", "ci", "--target", VM, "--save", str(plan)).stdout
    assert said.endswith(f"next: ./tidepool up ci --target {VM} --plan '{plan}'\n")
    upped.path("ci").write_text(good)


# What is forgotten, and taken in again


def test_forget_asks_about_what_is_protected_and_leaves_the_cloud_alone(upped: Checkout) -> None:
    asked = upped.run("forget", "ci", IMAGES)
    assert asked.exit_code == 2, "it is protected, and there is no terminal"
    assert f"protected from deletion while the state has it: {IMAGES}\n" in asked.stdout
    document = upped.json("forget", "ci", IMAGES, "--yes")
    gone = changed(document)
    assert ("retain", IMAGES) in gone
    assert {op for op, _ in gone} == {"retain"}
    grants = {name for _, name in gone} - {IMAGES}
    assert grants, "grants on it go with it"
    assert all(each.endswith(f"-{IMAGES}") for each in grants)
    with clients(PROJECT, upped.json("cloud", "status")["url"]) as google:
        repositories = google.api(Api.ARTIFACTS).projects().locations().repositories()
        assert repositories.get(name=f"projects/{PROJECT}/locations/us-central1/repositories/marin").execute()
    planned = changed(upped.json("preview", "ci"))
    assert planned == {("adopt" if name == IMAGES else "create", name) for _, name in gone}, "up takes it back"


def test_a_registry_is_taken_in_by_name(upped: Checkout) -> None:
    said = upped.ok("adopt", "ci", IMAGES).stdout
    assert f"< adopted {IMAGES} (artifactregistry.Repository)" in said
    assert "next: ./tidepool preview ci says what differs from its declaration\n" in said
    assert IMAGES not in {name for _, name in changed(upped.json("preview", "ci"))}
    assert upped.json("up", "ci")["exit"] == 0
    assert changed(upped.json("preview", "ci")) == set()
    lost = upped.run("adopt", "ci", "us-central1/marinn")
    assert (lost.exit_code, "Did you mean 'us-central1/marin'?" in lost.stderr) == (2, True)


def test_forget_asks_about_a_vm_that_runs_a_job_and_up_adopts_it_again(upped: Checkout) -> None:
    assert upped.run("forget", "ci", V4).exit_code == 0, "an idle VM, on the local cloud"
    assert changed(upped.json("up", "ci")) == {("adopt", V4)}
    upped.ok("reconcile", "ci", "--until-settled")
    job = upped.json("cloud", "job", "queue", "marin-community/marin", "tpu-v4")
    assert job["vm"] == V4
    asked = upped.run("forget", "ci", V4)
    assert asked.exit_code == 2
    assert f"jobs run on {V4}\n" in asked.stdout
    upped.ok("cloud", "job", "end", str(job["id"]))


def test_a_vm_of_others_is_taken_over_only_where_a_person_names_it(upped: Checkout) -> None:
    upped.ok("forget", "ci", VM)
    with clients(PROJECT, upped.json("cloud", "status")["url"]) as google:
        nodes = google.api(Api.TPU).projects().locations().nodes()
        nodes.delete(name=f"{NODES}/{VM}").execute()
    upped.ok("cloud", "clock", "--advance", "10m")
    upped.ok("cloud", "node", "add", VM, "--zone", "us-west4-a")
    refused = upped.run("adopt", "ci")
    assert refused.exit_code == 1
    assert f"run `./tidepool adopt ci {VM}`, which takes it over" in refused.stderr
    assert f"< adopted {VM} (tpu.V2Vm)" in upped.ok("adopt", "ci", VM).stdout
    assert ("replace", VM) in changed(upped.json("preview", "ci")), "it is not as declared, and the plan says so"
    upped.ok("up", "ci", "--no-drain")
    assert changed(upped.json("preview", "ci")) == set()
