"""Clients of Google's REST APIs, built from the discovery documents that google-api-python-client ships.

Owns which versions of which APIs the fleet speaks, how they are pointed at another root (the local cloud), which
credentials they carry, how a failed call is said, and what time the services say it is. Leaves what is called to its
callers.

`Clients` are safe to share between threads: each thread has a connection of its own, since httplib2 shares none safely.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any, Final, Self

import google.auth
import google_auth_httplib2
import httplib2
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.exceptions import GoogleAuthError
from googleapiclient import discovery, discovery_cache
from googleapiclient.errors import HttpError
from googleapiclient.http import DEFAULT_HTTP_TIMEOUT_SEC, HttpRequest

from infra.model.clock import machine_clock  # noqa: TID251 - what the Date of an answer is compared with
from infra.model.errors import OutsideError

CLOUD_PLATFORM: Final = "https://www.googleapis.com/auth/cloud-platform"
RETRIES: Final = 4
"""Retries of one call that answered 429 or 5xx, with googleapiclient's own growing, jittered waits."""
AT_ONCE: Final = 8
"""Requests of one kind that are under way at a time, where many are sent."""
HURRIED_RETRIES: Final = 1
HURRIED_SECONDS: Final = 5.0
"""Time limit of one call where somebody waits for its answer."""
AGREES: Final = timedelta(seconds=30)
"""By how much a right clock may differ from an answer's Date, which is told to the second and took its way."""


class Api(Enum):
    """An API and its version, as its discovery document is named."""

    ARTIFACTS = ("artifactregistry", "v1")
    BUILDS = ("cloudbuild", "v1")
    COMPUTE = ("compute", "v1")
    GKE = ("container", "v1")
    IAM = ("iam", "v1")
    KMS = ("cloudkms", "v1")
    LOGS = ("logging", "v2")
    PROJECTS = ("cloudresourcemanager", "v1")
    PUBSUB = ("pubsub", "v1")
    RUN = ("run", "v2")
    SECRETS = ("secretmanager", "v1")
    SERVICES = ("serviceusage", "v1")
    STORAGE = ("storage", "v1")
    TPU = ("tpu", "v2")


class GoogleError(OutsideError):
    """A call to Google that failed for good; its text is what a person reads.

    reason: what the service said, or why no answer came. status: of HTTP, None where no answer came.
    """

    def __init__(self, doing: str, reason: str, *, status: int | None = None) -> None:
        self.reason, self.status = reason, status
        super().__init__(f"{doing} failed: {reason}")


@dataclass(kw_only=True)
class Clients:
    """Google's APIs for one project, for any number of threads. Close it, or use it in a `with`, when they are done.

    endpoint: the root URL that takes the place of every API's own, None for Google itself.
    hurried: for a service whose callers wait: calls are cut off after `seconds` and tried again once.
    ahead: by how much this machine's clock was ahead of the services' own when the last answer came.
    """

    project: str
    endpoint: str | None
    credentials: Credentials
    hurried: bool = False
    seconds: float = HURRIED_SECONDS
    ahead: timedelta = timedelta()
    _built: dict[Api, Any] = field(default_factory=dict, repr=False)
    _connections: list[_Connections] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def api(self, api: Api) -> Any:
        """The client of one API, made on first use. Its methods are those of the discovery document."""
        with self._lock:
            if api not in self._built:
                document = _document(api, self.endpoint)
                http = _Connections(self.connection)
                self._connections.append(http)
                self._built[api] = _Collections(
                    discovery.build_from_document(document, http=http, requestBuilder=self._request)
                )
            return self._built[api]

    def present(self) -> datetime:
        """The services' time: by this machine's clock, put right where the last answer shows that it is wrong.

        What is deleted after some time, such as a VM of a run, must not go early because one machine's clock is fast.
        """
        now = machine_clock()
        return now - self.ahead if abs(self.ahead) > AGREES else now

    def _request(self, *given: Any, **more: Any) -> HttpRequest:
        request = (_HurriedRequest if self.hurried else HttpRequest)(*given, **more)
        request.add_response_callback(self._hear)
        return request

    def _hear(self, answer: Mapping[str, str]) -> None:
        with suppress(ValueError):  # No Date, or none that can be read.
            self.ahead = machine_clock() - parsedate_to_datetime(answer.get("date", ""))

    def token(self) -> str:
        """A token of whoever runs, for what takes Google's and is no API of its own. Raises GoogleError.

        The local cloud takes any.
        """
        if isinstance(self.credentials, AnonymousCredentials):
            return "local"
        try:
            if not self.credentials.valid:
                self.credentials.refresh(google_auth_httplib2.Request(httplib2.Http(timeout=self.seconds)))
        except GoogleAuthError as error:
            raise GoogleError("asking Google for a token", str(error)) from None
        return str(self.credentials.token)

    def connection(self) -> httplib2.Http | google_auth_httplib2.AuthorizedHttp:
        """A new one, with the credentials and time limits of all."""
        limit = self.seconds if self.hurried else DEFAULT_HTTP_TIMEOUT_SEC
        # No proxy stands before loopback, and httplib2 would refuse one that NO_PROXY exempts where it lacks PySocks.
        proxy = httplib2.proxy_info_from_environment if self.endpoint is None else None
        plain = httplib2.Http(timeout=limit, proxy_info=proxy)
        # A redirect is what an upload's answer 308 would be taken for, as googleapiclient's own builder knows.
        plain.redirect_codes = plain.redirect_codes - {308}
        if isinstance(self.credentials, AnonymousCredentials):
            return plain
        return google_auth_httplib2.AuthorizedHttp(self.credentials, http=plain)

    def close(self) -> None:
        for each in self._connections:
            each.close_all()
        self._connections.clear()
        self._built.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Connections:
    """The HTTP of one API's client, with a connection for each thread. connect: opens one."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._opened: dict[threading.Thread, Any] = {}

    def request(self, *given: Any, **more: Any) -> Any:
        """As httplib2's."""
        return self.own().request(*given, **more)

    def own(self) -> Any:
        """The connection of the thread that asks. Those of threads that have ended are closed."""
        mine = threading.current_thread()
        if mine not in self._opened:
            self.close_all(lambda thread: not thread.is_alive())
            self._opened[mine] = self._connect()
        return self._opened[mine]

    def close(self) -> None:
        """Close the connection of the thread that asks; its next request opens another."""
        self.own().close()

    def close_all(self, of: Callable[[threading.Thread], bool] = lambda _: True) -> None:
        """Close the connections of these threads, which must not be in use."""
        for thread in list(self._opened):
            if of(thread) and (http := self._opened.pop(thread, None)):
                http.close()


class _Collections:
    """A discovery client, or a collection of one, that makes each collection below it once.

    googleapiclient makes every method of a collection, with its text, at each `.objects()`: as long as the call takes.
    """

    def __init__(self, made: discovery.Resource) -> None:
        self._made = made

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._made, name)
        if getattr(found, "__is_resource__", False):
            below = _Collections(found())
            found = lambda: below  # noqa: E731 - called as the method that it stands for
        setattr(self, name, found)
        return found


class _HurriedRequest(HttpRequest):
    """A request that is tried again once, however often its caller would."""

    def execute(self, http: Any = None, num_retries: int = 0) -> Any:
        return super().execute(http=http, num_retries=min(num_retries, HURRIED_RETRIES))


def clients(project: str, endpoint: str | None, *, hurried: bool = False, seconds: float = HURRIED_SECONDS) -> Clients:
    """Clients for `project`: anonymous ones at `endpoint` (`http://127.0.0.1:8123/`), else Google's with Application
    Default Credentials. hurried, seconds: see `Clients`. Raises GoogleError where credentials are missing."""
    if endpoint is not None:
        root = endpoint if endpoint.endswith("/") else f"{endpoint}/"
        anonymous = AnonymousCredentials()
        return Clients(project=project, endpoint=root, credentials=anonymous, hurried=hurried, seconds=seconds)
    try:
        credentials, _ = google.auth.default(scopes=[CLOUD_PLATFORM], quota_project_id=project)
    except GoogleAuthError as error:
        raise GoogleError(
            "finding Google credentials", f"{error}; run `gcloud auth application-default login` or use `--cloud local`"
        ) from None
    return Clients(project=project, endpoint=None, credentials=credentials, hurried=hurried, seconds=seconds)


def execute(request: Any, doing: str, *, retries: int = RETRIES) -> Any:
    """Send a request of a discovery client and return its answer.

    doing: what it is for, as in `reading gs://bucket/name`; it opens the error's text. retries: fewer where the caller
    itself decides what follows on a refusal.
    Raises GoogleError for every refusal (`status` says which) and where no answer comes.

    A request that a signal cuts off takes its connections with it: httplib2 would read its answer as that of the next
    request, so that a list of VMs could look empty.
    """
    try:
        return request.execute(num_retries=retries)
    except HttpError as error:
        raise GoogleError(
            doing, f"{error.reason or 'no reason given'} ({error.status_code})", status=error.status_code
        ) from None
    except (GoogleAuthError, http.client.HTTPException, httplib2.HttpLib2Error, OSError) as error:
        raise GoogleError(doing, f"no answer from the service: {error}") from None
    except Exception:
        raise
    except BaseException:  # Ctrl-C, and what a signal raises
        request.http.close()
        raise


def answers(
    requests: Iterable[tuple[Any, str]], *, missing: Collection[int] = (), at_once: int = AT_ONCE
) -> Iterator[Any]:
    """The answers of many requests, in their order, `at_once` of them under way at a time.

    requests: each with what it is for. missing: statuses for which the answer is None. Raises
    GoogleError for any other refusal; requests that have not begun by then are not sent.
    """

    def ask(asked: tuple[Any, str]) -> Any:
        try:
            return execute(*asked)
        except GoogleError as error:
            if error.status in missing:
                return None
            raise

    pool = ThreadPoolExecutor(max_workers=at_once)
    try:
        yield from pool.map(ask, requests)
    finally:
        pool.shutdown(cancel_futures=True)


def _document(api: Api, endpoint: str | None) -> dict[str, Any]:
    """The shipped discovery document. Its root is what is replaced: uploads ignore `client_options.api_endpoint`."""
    name, version = api.value
    text = discovery_cache.get_static_doc(name, version)
    if text is None:
        raise LookupError(f"google-api-python-client ships no discovery document for {name} {version}")
    document = json.loads(text)
    if endpoint is not None:
        # Paths of GKE look like those of other APIs, so that one root for all has it below its name.
        root = f"{endpoint}container/" if api is Api.GKE else endpoint
        document |= {"rootUrl": root, "mtlsRootUrl": root}
    return document
