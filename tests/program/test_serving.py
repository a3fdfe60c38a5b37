"""The broker and the controller: declared once there is something to run, open to nobody who need not call them."""

from __future__ import annotations

import json
import re
from functools import cache

from infra.cli import reconcile
from infra.fleet import service
from infra.model.stack import parse_stack
from infra.program.serving import unnotified, unserved
from tests.program.fake_engine import Built, Registered
from tests.program.stacks import built, edited, text_of, unedited

IMAGE = f"us-central1-docker.pkg.dev/hai-gcp-models/marin/controller@sha256:{'0' * 64}"
PROJECT = "hai-gcp-models"
BROKER, CONTROLLER, CLOCK = (
    f"tidepool-ci-{each}@{PROJECT}.iam.gserviceaccount.com" for each in ("broker", "controller", "clock")
)
SERVED = f"""\
  tidepool:runners:
    app: {{id: 12, installation: 34, key_secret: tidepool-github-app-key}}
    groups: {{member: tpu-member}}
  tidepool:controller:
    region: us-central1
    image: {IMAGE}
    every_minutes: 2
    notify: [tpu-alerts@my-lab.org]
  tidepool:secrets:
"""


@cache
def served() -> Built:
    return built("ci", edited("ci", ("  tidepool:secrets:\n", SERVED)))


def container(resource: Registered) -> dict:
    template = resource.inputs["template"]
    (only,) = template.get("template", template)["containers"]
    return only


def test_a_fleet_without_an_image_is_told_what_it_lacks() -> None:
    assert not unedited("ci").of("cloudrunv2/service:Service")
    assert not unedited("ci").of("cloudrunv2/job:Job")
    config = parse_stack(text_of("ci"), stack="ci", source="ci")
    assert "tidepool:runners.app and tidepool:controller.image are missing. Next: docs/serving.md" in unserved(config)
    assert "so on Google Cloud no runner registers" in unserved(config), "the local cloud has guests"
    without_vms = parse_stack(text_of("nightly"), stack="nightly", source="nightly")
    assert unserved(without_vms) == "", "a stack without VMs has nothing to keep"


def test_images_of_before_and_of_today_understand_what_they_are_told() -> None:
    """A new program may run an old image until the next one is built, and the way back from a new image is the old."""
    sweeping, serving = (
        container(served().one(f"cloudrunv2/{kind}"))["args"] for kind in ("job:Job", "service:Service")
    )
    assert (sweeping[0], *serving[:2]) == ("reconcile", "broker", "serve")
    assert reconcile.reconcile_command.make_context("reconcile", sweeping[1:])
    assert reconcile.serve.make_context("serve", serving[2:])
    today = [service.parsed(arguments, {}) for arguments in (sweeping, serving)]
    assert [(given.role, given.stack) for given in today] == [("controller", "ci"), ("broker", "ci")]
    assert today[1].host == "0.0.0.0"


def test_alerts_that_reach_nobody_are_told_of() -> None:
    config = parse_stack(edited("ci", ("  tidepool:secrets:\n", SERVED)), stack="ci", source="ci")
    assert unnotified(config) == ""
    silent = SERVED.replace("    notify: [tpu-alerts@my-lab.org]\n", "")
    config = parse_stack(edited("ci", ("  tidepool:secrets:\n", silent)), stack="ci", source="ci")
    assert "tidepool:controller.notify names no address" in unnotified(config)
    assert unnotified(parse_stack(text_of("ci"), stack="ci", source="ci")) == "", "nothing is declared to be told of"


def test_every_alert_reaches_whom_the_stack_file_names_and_leads_to_its_page() -> None:
    program = served()
    (channel,) = program.of("NotificationChannel")
    assert channel.inputs["labels"] == {"email_address": "tpu-alerts@my-lab.org"}
    counted = {metric.inputs["name"] for metric in program.of("logging/metric:Metric")}
    for policy in program.of("AlertPolicy"):
        assert len(policy.inputs["notificationChannels"]) == 1
        (link,) = policy.inputs["documentation"]["links"]
        assert link["url"].startswith("https://github.com/marin-community/tidepool/blob/main/docs/runbooks/")
        assert link["url"] in policy.inputs["documentation"]["content"]
        assert re.search(
            r"^Look first: `\./tidepool [a-z].*`$", policy.inputs["documentation"]["content"], re.MULTILINE
        )
        (condition,) = policy.inputs["conditions"]
        assert any(f'user/{name}"' in condition["conditionThreshold"]["filter"] for name in counted)


def test_the_dashboard_draws_figures_that_are_measured() -> None:
    layout = json.loads(served().one("Dashboard").inputs["dashboardJson"])["mosaicLayout"]
    drawn = [
        tile["widget"]["xyChart"]["dataSets"][0]["timeSeriesQuery"]["timeSeriesFilter"] for tile in layout["tiles"]
    ]
    kinds = {m.inputs["name"]: m.inputs["metricDescriptor"]["valueType"] for m in served().of("logging/metric:Metric")}
    names_drawn = {query["filter"].partition("/user/")[2].partition('"')[0] for query in drawn}
    counted = {f"tidepool-ci-{key}" for key in ("sweep-missing", "heal-rate-high", "broker-refusals")}
    distributions = {name for name, kind in kinds.items() if kind == "DISTRIBUTION"}
    assert names_drawn == counted | distributions - {"tidepool-ci-no-runner-online"}
    places = {(tile.get("xPos", 0), tile.get("yPos", 0)) for tile in layout["tiles"]}
    assert len(places) == len(drawn)
    assert all(tile.get("xPos", 0) + tile["width"] <= layout["columns"] for tile in layout["tiles"])
