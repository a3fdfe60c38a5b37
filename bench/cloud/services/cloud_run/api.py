"""Cloud Run v2: services and jobs, their policies, and that a job was run.

Owns what the service tells of a declaration. Nothing is started here: no container runs, so a run of a job is recorded
as an execution and ends at once. `./tidepool broker serve` and `reconcile --watch` are what these would run.
Source: cloud.google.com/run/docs/reference/rest/v2, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.services import places, policies
from bench.cloud.services.collection import Collection
from bench.cloud.store import Resource

_TYPE = "type.googleapis.com/google.cloud.run.v2"
_EXECUTIONS = "run.executions"


class _Deployed(Collection):
    """Services and jobs."""

    locations = places.REGIONS
    mask = "whole"
    adds = ("createTime", "updateTime", "etag")
    has_policy = True

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        task = body.get("template", {}).get("template") or body.get("template", {})
        policies.check_account(cloud, name.split("/")[1], task.get("serviceAccount", ""))
        return body

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        generation = str(held.generation)
        return {
            **super().shown(cloud, held),
            "generation": generation,
            "observedGeneration": generation,
            "launchStage": held.body.get("launchStage", "GA"),
            "terminalCondition": {"type": "Ready", "state": "CONDITION_SUCCEEDED"},
        }

    def response(self, cloud: Cloud, method: str, held: Resource) -> JsonObject:
        return {"@type": self.message, **self.shown(cloud, held)}


class _Services(_Deployed):
    api = "run.projects.locations.services"
    kind = "run.service"
    new_id = "serviceId"
    seconds = MappingProxyType({"create": 12.0, "patch": 12.0, "delete": 12.0})
    message = f"{_TYPE}.Service"

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        shown = super().shown(cloud, held)
        _, project, _, location, _, identity = held.name.split("/")
        url = f"https://{identity}-{cloud.project(project).number}.{location}.run.app"
        return {"ingress": "INGRESS_TRAFFIC_ALL", **shown, "uri": url, "urls": [url]}


class _Jobs(_Deployed):
    api = "run.projects.locations.jobs"
    kind = "run.job"
    new_id = "jobId"
    seconds = MappingProxyType({"create": 3.0, "patch": 3.0, "delete": 3.0})
    message = f"{_TYPE}.Job"

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        count = cloud.store.setting(f"{_EXECUTIONS}/{held.name}", 0)
        return {
            **super().shown(cloud, held),
            "executionCount": count,
            **({"latestCreatedExecution": {"name": f"{held.name}-{count:05d}"}} if count else {}),
        }


_Services()
_JOBS = _Jobs()


def run(cloud: Cloud, name: str) -> None:
    """Record one execution of a job. Raises 404 where there is none."""
    key = f"{_EXECUTIONS}/{_JOBS.named(cloud, name).name}"
    cloud.store.set_setting(key, cloud.store.setting(key, 0) + 1)
