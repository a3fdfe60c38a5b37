"""Services and jobs of Cloud Run through Google's own client."""

from __future__ import annotations

import pytest

PROJECT = "projects/tidepool-test"
PARENT = f"{PROJECT}/locations/us-central1"
IMAGE = f"us-central1-docker.pkg.dev/tidepool-test/marin/controller@sha256:{'0' * 64}"
JOB = {"template": {"template": {"containers": [{"image": IMAGE}]}}}


@pytest.fixture(scope="module")
def locations(client):
    return client("run", "v2").projects().locations()


def test_a_service_is_made_changed_and_deleted(locations, refused):
    services, name = locations.services(), f"{PARENT}/services/broker"
    body = {"template": {"containers": [{"image": IMAGE}]}, "customAudiences": ["https://broker.example"]}
    services.create(parent=PARENT, serviceId="broker", body=body).execute()
    made = services.get(name=name).execute()
    assert made["uri"].endswith(".us-central1.run.app")
    assert made["customAudiences"] == ["https://broker.example"]
    services.patch(name=name, body={**body, "description": "d"}).execute()
    assert services.get(name=name).execute()["generation"] == "2"
    services.delete(name=name).execute()
    refused(404, services.get(name=name))


@pytest.mark.parametrize(
    ("identity", "body"),
    [
        ("Broker", JOB),
        ("b" * 50, JOB),
        ("broker", {"template": {"template": {"containers": []}}}),
        ("broker", {"template": {"template": {"containers": [{"image": "controller"}]}}}),
        (
            "broker",
            {
                "template": {
                    "template": {
                        "containers": [{"image": IMAGE}],
                        "serviceAccount": "nobody@tidepool-test.iam.gserviceaccount.com",
                    }
                }
            },
        ),
    ],
)
def test_what_cannot_run_is_refused(locations, refused, identity, body):
    refused(400, locations.jobs().create(parent=PARENT, jobId=identity, body=body))


def test_a_schedule_runs_a_job_and_a_job_that_is_gone_is_said(client, locations):
    jobs, name = locations.jobs(), f"{PARENT}/jobs/sweep"
    schedules = client("cloudscheduler").projects().locations().jobs()
    jobs.create(parent=PARENT, jobId="sweep", body=JOB).execute()
    schedule = {
        "name": f"{PARENT}/jobs/clock",
        "schedule": "*/2 * * * *",
        "httpTarget": {"uri": f"https://run.googleapis.com/v2/{name}:run", "httpMethod": "POST"},
    }
    schedules.create(parent=PARENT, body=schedule).execute()
    assert "status" not in schedules.run(name=schedule["name"], body={}).execute()
    told = jobs.get(name=name).execute()
    assert told["executionCount"] >= 1
    assert told["latestCreatedExecution"]["name"].startswith(f"{name}-")
    jobs.delete(name=name).execute()
    assert schedules.run(name=schedule["name"], body={}).execute()["status"]["code"] == 5
