"""google-cloud-run, google-cloud-scheduler and google-cloud-build walk the lives of what they make."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.cloud import run_v2, scheduler_v1
from google.cloud.devtools import cloudbuild_v2

PARENT = "projects/client-lab/locations/us-central1"
IMAGE = "us-docker.pkg.dev/cloudrun/container/hello"


def test_a_job_of_cloud_run_lives_from_create_to_delete(rest):
    jobs = rest(run_v2.JobsClient)
    template = {"template": {"containers": [{"image": IMAGE}]}}
    sent = run_v2.Job(template=template, launch_stage="GA", labels={"team": "a"})
    made = jobs.create_job(parent=PARENT, job_id="nightly", job=sent).result()
    assert made.launch_stage == 4, "GA is the seventh of its list"
    with pytest.raises(exceptions.Conflict):
        jobs.create_job(parent=PARENT, job_id="nightly", job=sent)
    assert [job.name for job in jobs.list_jobs({"parent": PARENT})] == [made.name]
    changed = jobs.update_job(job=run_v2.Job(name=made.name, template=template, labels={"team": "b"})).result()
    assert (dict(changed.labels), changed.generation) == ({"team": "b"}, 2)
    with pytest.raises(exceptions.Conflict, match=r"(?i)etag"):
        jobs.delete_job({"name": made.name, "etag": made.etag})
    jobs.delete_job({"name": made.name, "etag": jobs.get_job(name=made.name).etag}).result()
    with pytest.raises(exceptions.NotFound):
        jobs.get_job(name=made.name)


def test_a_job_of_cloud_scheduler_lives_from_create_to_delete(rest):
    jobs = rest(scheduler_v1.CloudSchedulerClient)
    target = {"uri": "https://example.org/", "http_method": scheduler_v1.HttpMethod.PUT}
    sent = scheduler_v1.Job(name=f"{PARENT}/jobs/daily", schedule="0 3 * * *", http_target=target)
    assert jobs.create_job(parent=PARENT, job=sent).http_target.http_method == scheduler_v1.HttpMethod.PUT
    with pytest.raises(exceptions.Conflict):
        jobs.create_job(parent=PARENT, job=sent)
    change = scheduler_v1.Job(name=sent.name, schedule="0 4 * * *", description="ignored")
    changed = jobs.update_job(job=change, update_mask={"paths": ["schedule"]})
    assert (changed.schedule, changed.description) == ("0 4 * * *", "")
    assert jobs.pause_job(name=sent.name).state == scheduler_v1.Job.State.PAUSED
    assert [job.name for job in jobs.list_jobs(parent=PARENT)] == [sent.name]
    jobs.delete_job(name=sent.name)
    with pytest.raises(exceptions.NotFound):
        jobs.get_job(name=sent.name)


def test_a_connection_lives_from_create_to_delete(rest):
    hosts = rest(cloudbuild_v2.RepositoryManagerClient)
    sent = cloudbuild_v2.Connection(github_config={}, annotations={"team": "a"})
    made = hosts.create_connection(parent=PARENT, connection_id="host", connection=sent).result()
    assert made.installation_state.stage == cloudbuild_v2.InstallationState.Stage.COMPLETE
    uri = "https://github.com/o/r.git"
    repository = hosts.create_repository(parent=made.name, repository_id="r", repository={"remote_uri": uri}).result()
    asked = {"parent": made.name, "filter": 'remote_uri:"o/r"'}
    assert [each.name for each in hosts.list_repositories(asked)] == [repository.name]
    with pytest.raises(exceptions.BadRequest):
        hosts.delete_connection(name=made.name)
    hosts.delete_repository(name=repository.name).result()
    hosts.delete_connection({"name": made.name, "etag": made.etag}).result()
    assert list(hosts.list_connections(parent=PARENT)) == []
