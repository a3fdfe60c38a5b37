"""GitHub's REST API for one repository, as a job's token may use it.

Told by GITHUB_TOKEN, GITHUB_API_URL and GITHUB_REPOSITORY, or REPOSITORY for another one. An answer that refuses ends
the script with its words; the token is in no message.
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

TRIES = 4
TOO_MANY = 429
PER_PAGE = 100
OWN_LOGIN = "github-actions[bot]"


def ask(verb: str, path: str, body: object = None, *, absent: bool = False) -> Any:
    """The answer's JSON, None of an empty one. absent: None for a 404 too.

    A read is tried again; a write is not, since it may have been heard all the same.
    """
    repository = os.environ.get("REPOSITORY") or os.environ["GITHUB_REPOSITORY"]
    url = f"{os.environ['GITHUB_API_URL']}/repos/{repository}{path}"
    request = urllib.request.Request(url, method=verb, data=None if body is None else json.dumps(body).encode())
    request.add_header("Authorization", f"Bearer {os.environ['GITHUB_TOKEN']}")
    request.add_header("Accept", "application/vnd.github+json")
    request.add_header("X-GitHub-Api-Version", "2022-11-28")
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                content = answer.read()
                return json.loads(content) if content else None
        except urllib.error.HTTPError as refusal:
            if absent and refusal.code == 404:
                return None
            if left and verb == "GET" and (refusal.code >= 500 or refusal.code == TOO_MANY):
                time.sleep(float(os.environ.get("PAUSE_SECONDS", "5")))
                continue
            said = refusal.read()[:300].decode(errors="replace")
            raise SystemExit(f"::error::{verb} {path}: GitHub says {refusal.code}: {' '.join(said.split())}") from None
        except (OSError, http.client.HTTPException) as silence:
            if not left or verb != "GET":
                raise SystemExit(f"::error::{verb} {path}: {' '.join(str(silence).split())}") from None
            time.sleep(float(os.environ.get("PAUSE_SECONDS", "5")))
    return None


def each(path: str, **query: str) -> Iterator[Any]:
    """Everything of a list, page by page."""
    page = 1
    while found := ask("GET", f"{path}?{urllib.parse.urlencode({**query, 'per_page': PER_PAGE, 'page': page})}"):
        yield from found
        if len(found) < PER_PAGE:
            return
        page += 1


def run_url() -> str:
    """The page of this run."""
    told = os.environ
    return f"{told['GITHUB_SERVER_URL']}/{told['GITHUB_REPOSITORY']}/actions/runs/{told['GITHUB_RUN_ID']}"
