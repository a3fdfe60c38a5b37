"""Clients of Google's APIs: where they point, what they carry, how a failure is said."""

from __future__ import annotations

from typing import Any

import google.auth
import pytest
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import DefaultCredentialsError
from googleapiclient.errors import HttpError
from googleapiclient.http import HttpMockSequence

from bench.cloud.testing import TestCloud
from infra.fleet.google import (
    HURRIED_RETRIES,
    Api,
    GoogleError,
    clients,
    execute,
)

LOCAL = "http://127.0.0.1:9"


class Unanswered:
    """A request whose connection is refused."""

    def execute(self, num_retries: int) -> Any:
        raise ConnectionRefusedError(f"refused {num_retries} times")


@pytest.mark.parametrize("api", list(Api))
def test_every_api_is_pointed_at_the_local_cloud(api: Api) -> None:
    with clients("a-lab", LOCAL) as local:
        assert local.api(api)._baseUrl.startswith(f"{LOCAL}/")


def test_uploads_go_to_the_local_cloud_as_well() -> None:
    with clients("a-lab", LOCAL) as local:
        request = local.api(Api.STORAGE).objects().insert(bucket="b", name="n", media_body=None)
        assert request.uri.startswith(f"{LOCAL}/")
        assert local.api(Api.STORAGE)._rootDesc["rootUrl"] == f"{LOCAL}/"


def test_the_local_cloud_is_sent_no_credentials() -> None:
    with clients("a-lab", LOCAL) as local:
        assert isinstance(local.credentials, AnonymousCredentials)


def test_missing_credentials_are_said_with_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(**_: Any) -> Any:
        raise DefaultCredentialsError("none found")

    monkeypatch.setattr(google.auth, "default", none)
    with pytest.raises(GoogleError, match="gcloud auth application-default login"):
        clients("a-lab", None)


def test_no_answer_is_said_in_one_line_with_what_was_being_done() -> None:
    with pytest.raises(GoogleError, match="looking up a bucket failed: no answer from the service: refused") as raised:
        execute(Unanswered(), "looking up a bucket")
    assert raised.value.status is None
    assert "\n" not in str(raised.value)


def test_a_hurried_request_is_tried_again_once() -> None:
    with clients("a-lab", LOCAL, hurried=True) as made:
        request = made.api(Api.TPU).projects().locations().nodes().get(name="projects/p/locations/z/nodes/n")
        request._sleep = lambda _: None
        request.http = HttpMockSequence([({"status": "503"}, b"{}")] * 9)
        with pytest.raises(HttpError):
            request.execute(num_retries=4)
        assert len(request.http.request_sequence) == 1 + HURRIED_RETRIES


def test_no_proxy_stands_before_the_local_cloud(cloud: TestCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for hurried in (False, True):
        with clients(cloud.project, cloud.url, hurried=hurried) as local:
            nodes = local.api(Api.TPU).projects().locations().nodes()
            place = f"projects/{cloud.project}/locations/us-west4-a"
            assert execute(nodes.list(parent=place), "listing") == {"nodes": []}
