"""Clients of Google's REST APIs, built from the discovery documents that google-api-python-client ships.

Owns which versions of which APIs the fleet speaks, how they are pointed at another root (the local cloud), which
credentials they carry, and how a failed call is said. Leaves what is called to its callers.

A client holds one connection and is not safe to share between threads (httplib2): make one `Clients` a thread.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Self

import google.auth
import httplib2
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.exceptions import GoogleAuthError
from googleapiclient import discovery, discovery_cache
from googleapiclient.errors import HttpError

CLOUD_PLATFORM: Final = "https://www.googleapis.com/auth/cloud-platform"
RETRIES: Final = 4
"""Retries of one call that answered 429 or 5xx, with googleapiclient's own growing, jittered waits."""


class Api(Enum):
    """An API and its version, as its discovery document is named."""

    ARTIFACTS = ("artifactregistry", "v1")
    BUILDS = ("cloudbuild", "v1")
    IAM = ("iam", "v1")
    KMS = ("cloudkms", "v1")
    PROJECTS = ("cloudresourcemanager", "v1")
    PUBSUB = ("pubsub", "v1")
    SERVICES = ("serviceusage", "v1")
    STORAGE = ("storage", "v1")
    TPU = ("tpu", "v2")


class GoogleError(Exception):
    """A call to Google that failed for good; its text is what a person reads.

    status: the HTTP status, None where no answer came.
    """

    def __init__(self, doing: str, reason: str, *, status: int | None = None) -> None:
        self.status = status
        super().__init__(f"{doing} failed: {reason}")


@dataclass(kw_only=True)
class Clients:
    """Google's APIs for one project. Close it, or use it in a `with`, to close its connections.

    endpoint: the root URL that takes the place of every API's own, None for Google itself.
    """

    project: str
    endpoint: str | None
    credentials: Credentials
    _built: dict[Api, Any] = field(default_factory=dict, repr=False)

    def api(self, api: Api) -> Any:
        """The client of one API, made on first use. Its methods are those of the discovery document."""
        if api not in self._built:
            self._built[api] = discovery.build_from_document(
                _document(api, self.endpoint), credentials=self.credentials, always_use_jwt_access=False
            )
        return self._built[api]

    def close(self) -> None:
        for client in self._built.values():
            client.close()
        self._built.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def clients(project: str, endpoint: str | None) -> Clients:
    """Clients for `project`: anonymous ones at `endpoint` (`http://127.0.0.1:8123/`), else Google's with Application
    Default Credentials. Raises GoogleError where those are missing."""
    if endpoint is not None:
        root = endpoint if endpoint.endswith("/") else f"{endpoint}/"
        return Clients(project=project, endpoint=root, credentials=AnonymousCredentials())
    try:
        credentials, _ = google.auth.default(scopes=[CLOUD_PLATFORM], quota_project_id=project)
    except GoogleAuthError as error:
        raise GoogleError(
            "finding Google credentials", f"{error}; run `gcloud auth application-default login` or use `--cloud local`"
        ) from None
    return Clients(project=project, endpoint=None, credentials=credentials)


def execute(request: Any, doing: str) -> Any:
    """Send a request of a discovery client and return its answer.

    doing: what it is for, as in `reading gs://bucket/name`; it opens the error's text.
    Raises GoogleError for every refusal (`status` says which) and where no answer comes.
    """
    try:
        return request.execute(num_retries=RETRIES)
    except HttpError as error:
        raise GoogleError(
            doing, f"{error.reason or 'no reason given'} ({error.status_code})", status=error.status_code
        ) from None
    except (GoogleAuthError, httplib2.HttpLib2Error, OSError) as error:
        raise GoogleError(doing, f"no answer from the service: {error}") from None


def _document(api: Api, endpoint: str | None) -> dict[str, Any]:
    """The shipped discovery document. Its root is what is replaced: uploads ignore `client_options.api_endpoint`."""
    name, version = api.value
    text = discovery_cache.get_static_doc(name, version)
    if text is None:
        raise LookupError(f"google-api-python-client ships no discovery document for {name} {version}")
    document = json.loads(text)
    if endpoint is not None:
        document |= {"rootUrl": endpoint, "mtlsRootUrl": endpoint}
    return document
