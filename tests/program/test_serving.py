"""The broker and the controller: declared once there is something to run, open to nobody who need not call them."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from infra.cli import reconcile
from infra.fleet import service
from infra.fleet.broker import settings
from infra.fleet.place import BROKER as BROKER_URL
from infra.fleet.place import told_place
from infra.model import names
from infra.model.alerts import alerts
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


def test_the_broker_runs_one_build_as_itself_and_finds_its_settings() -> None:
    service = served().one("cloudrunv2/service:Service")
    assert service.inputs["template"]["serviceAccount"] == BROKER
    only = container(service)
    assert only["image"] == IMAGE
    environ = {each["name"]: each["value"] for each in only["envs"]}
    found = settings.read("ci", environ)
    assert found.audience == "https://tidepool-ci-broker-123456789012.us-central1.run.app"
    assert service.inputs["customAudiences"] == [found.audience]
    assert (found.app, found.installation, dict(found.groups)) == ("12", "34", {"member": "tpu-member"})
    assert found.key_secret == f"projects/{PROJECT}/secrets/tidepool-github-app-key/versions/latest"


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


def test_only_pools_and_the_controller_call_the_broker_and_only_the_clock_runs_the_controller() -> None:
    program = served()
    config = parse_stack(text_of("ci"), stack="ci", source="ci")
    pools = {
        f"serviceAccount:{names.account_email(names.pool_account_id('ci', pool.name), PROJECT)}"
        for pool in config.pools
    }
    callers = program.of("ServiceIamMember")
    assert {grant.inputs["member"] for grant in callers} == {*pools, f"serviceAccount:{CONTROLLER}"}
    (runs,) = program.of("JobIamMember")
    assert runs.inputs["member"] == f"serviceAccount:{CLOCK}"
    assert {grant.inputs["role"] for grant in (*callers, runs)} == {"roles/run.invoker"}
    clock = [r for r in program.custom if r.inputs.get("member") == f"serviceAccount:{CLOCK}"]
    assert clock == [runs], "the clock may do nothing else"


def test_the_schedule_runs_that_job_and_no_other() -> None:
    program = served()
    job = program.one("cloudrunv2/job:Job")
    (schedule,) = (each for each in program.of("cloudscheduler/job:Job") if "httpTarget" in each.inputs)
    target = schedule.inputs["httpTarget"]
    path = f"projects/{PROJECT}/locations/us-central1/jobs/{job.inputs['name']}"
    assert target["uri"] == f"https://run.googleapis.com/v2/{path}:run"
    assert target["oauthToken"]["serviceAccountEmail"] == CLOCK
    assert schedule.inputs["schedule"] == "*/2 * * * *"


def test_the_controller_gives_vms_the_accounts_of_pools_and_of_nobody_else() -> None:
    program = served()
    grants = [r.inputs for r in program.custom if r.inputs.get("role") == "roles/iam.serviceAccountUser"]
    assert {grant["member"] for grant in grants} == {f"serviceAccount:{CONTROLLER}"}
    assert all("-pool-" in grant["serviceAccountId"] for grant in grants)
    assert len(grants) == 4


def test_the_controller_asks_github_through_the_broker_and_reads_no_secret() -> None:
    program = served()
    job = program.one("cloudrunv2/job:Job")
    assert job.inputs["template"]["template"]["serviceAccount"] == CONTROLLER
    environ = {each["name"]: each["value"] for each in container(job)["envs"]}
    place = told_place("ci", environ)
    assert place is not None
    assert (place.project, place.bucket, place.builds) == (PROJECT, "hai-gcp-models-tidepool-ci", True)
    assert environ[BROKER_URL] == "https://tidepool-ci-broker-123456789012.us-central1.run.app"
    grants = [(grant.inputs["role"], grant.inputs["member"]) for grant in program.of("SecretIamMember")]
    assert sorted(grants) == [
        ("roles/secretmanager.secretAccessor", f"serviceAccount:{BROKER}"),
        ("roles/secretmanager.viewer", f"serviceAccount:{CONTROLLER}"),
    ], "the controller sees how old the key is, and not what it is"


def test_the_controller_of_a_stack_that_builds_no_images_is_not_sent_to_look_at_them() -> None:
    text = edited("ci", ("  tidepool:secrets:\n", SERVED))
    start, end = text.index("  tidepool:builds:\n"), text.index("  tidepool:github:\n")
    job = built("ci", text[:start] + text[end:]).one("cloudrunv2/job:Job")
    place = told_place("ci", {each["name"]: each["value"] for each in container(job)["envs"]})
    assert place is not None
    assert not place.builds


def test_nothing_that_serves_has_a_role_on_the_project() -> None:
    assert not [r for r in served().custom if r.type.startswith("gcp:projects/i")]


def test_what_serves_can_be_replaced_since_it_keeps_nothing() -> None:
    for kind in ("cloudrunv2/service:Service", "cloudrunv2/job:Job"):
        resource = served().one(kind)
        assert resource.inputs["deletionProtection"] is False
        assert not resource.protect


def test_the_stack_says_where_its_broker_is() -> None:
    said = json.loads(json.dumps(served().outputs["serving"]))
    assert len(said.pop("alerts")) == len(served().of("AlertPolicy")) > 0
    assert said == {
        "broker": "https://tidepool-ci-broker-123456789012.us-central1.run.app",
        "controller": "tidepool-ci-controller",
        "region": "us-central1",
    }


@pytest.mark.parametrize("stack", ["a", "a-very-long-name-of-a-stack-that-is-still-a-stack"])
def test_names_of_what_serves_fit(stack: str) -> None:
    for name in (names.broker_service(stack), names.controller_job(stack)):
        assert len(name) <= 49
        assert names.is_resource_name(name)


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


def test_a_mail_says_which_pool_it_is_about() -> None:
    subjects = {policy.inputs["documentation"]["subject"] for policy in served().of("AlertPolicy")}
    assert "Tidepool ci: No runner of a pool is online: ${metric.label.pool}" in subjects
    assert "Tidepool ci: The controller does not sweep" in subjects


def test_metrics_wait_for_nothing_and_policies_for_what_takes_long() -> None:
    """Cloud Monitoring refuses a policy for as long as it does not know its metric."""
    slow = {served().one("cloudrunv2/service:Service").urn, served().one("cloudrunv2/job:Job").urn}
    for metric in served().of("logging/metric:Metric"):
        assert not slow & set(metric.dependencies)
    for policy in served().of("AlertPolicy"):
        assert slow <= set(policy.dependencies)


def test_silence_is_an_alert_of_sweeps_alone_and_ends_others() -> None:
    said = {}
    for policy in served().of("AlertPolicy"):
        (condition,) = policy.inputs["conditions"]
        missing = condition["conditionThreshold"].get("evaluationMissingData", "")
        closed = policy.inputs["alertStrategy"]["autoClose"]
        said[policy.name.removeprefix("tidepool-ci-")] = (missing.rpartition("_")[2], closed)
    assert said.pop("sweep-missing") == ("ACTIVE", "604800s")
    assert said.pop("no-runner-online") == ("", "3600s"), "a GitHub that is silent for a while is neither"
    assert set(said.values()) == {("INACTIVE", "3600s")}


@pytest.mark.parametrize("every", [1, 2, 5, 30, 60])
def test_alerts_fit_the_pace_of_their_controller(every: int) -> None:
    pace = SERVED.replace("every_minutes: 2", f"every_minutes: {every}\n    grace_minutes: {max(10, every)}")
    text = edited("ci", ("  tidepool:secrets:\n", pace))
    for alert in alerts(parse_stack(text, stack="ci", source="ci")):
        if alert.key not in ("broker-refusals", "heal-rate-high"):
            assert alert.window >= 2 * every, "one late sweep is no missing one"
        assert 1 <= alert.lasting < 24 * 60
        assert alert.window <= 25 * 60


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


def test_lines_are_counted_of_the_declared_service_and_job_alone() -> None:
    filters = [metric.inputs["filter"] for metric in served().of("logging/metric:Metric")]
    assert {each.split(" AND ")[1] for each in filters} == {
        'resource.labels.job_name="tidepool-ci-controller"',
        'resource.labels.service_name="tidepool-ci-broker"',
    }


def test_without_a_controller_there_is_nothing_to_be_alerted_of() -> None:
    assert not [each for each in unedited("ci").custom if each.type.startswith(("gcp:monitoring/", "gcp:logging/"))]
