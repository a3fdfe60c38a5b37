"""Issues and pull requests, their comments and labels: what GitHub's `/issues` and `/pulls` paths do.

A token of a workflow needs `issues: write`, or on a pull request `pull-requests: write`, for each change.
"""

from __future__ import annotations

from bench.cloud.errors import JsonObject
from bench.cloud.github import records
from bench.cloud.github.routes import Ask, GitHubAnswer, GitHubError, Made, Paged, missing, serves
from bench.cloud.store import Resource

# https://docs.github.com/rest/issues/comments and the web form's own limit; read 2026-11-21.
LONGEST_BODY = 65_536
_REPO = "/repos/{owner}/{name}"
_ISSUE = "/repos/{owner}/{name}/issues/{number}"
_COMMENT = "/repos/{owner}/{name}/issues/comments/{id}"


@serves("GET", _REPO + "/issues")
def list_issues(ask: Ask) -> GitHubAnswer:
    state, wanted = ask.query.get("state", "open"), set(filter(None, ask.query.get("labels", "").split(",")))
    shown = [
        _shown(ask, found.body)
        for found in records.each(ask.cloud, records.ISSUE, ask.where)
        if state in ("all", found.body["state"])
        and ask.query.get("creator") in (None, found.body["user"]["login"])
        and wanted <= {label["name"] for label in found.body["labels"]}
    ]
    return Paged(shown if ask.query.get("direction") == "asc" else shown[::-1])


@serves("POST", _REPO + "/issues")
def create_issue(ask: Ask) -> GitHubAnswer:
    ask.demand("issues")
    _fit(ask)
    return Made(_shown(ask, records.add_issue(ask.cloud, ask.where, ask.user.login, ask.body)))


@serves("GET", _ISSUE)
def get_issue(ask: Ask) -> GitHubAnswer:
    return _shown(ask, _issue(ask).body)


@serves("PATCH", _ISSUE)
def edit_issue(ask: Ask) -> GitHubAnswer:
    _fit(ask)
    changes = {name: ask.body[name] for name in ("title", "state", "body") if name in ask.body}
    return _shown(ask, records.save(ask.cloud, _writable(ask), **changes).body)


@serves("GET", _ISSUE + "/comments")
def list_comments(ask: Ask) -> GitHubAnswer:
    number = _issue(ask).body["number"]
    found = records.each(ask.cloud, records.COMMENT, ask.where)
    return Paged([_comment_json(ask, comment.body) for comment in found if comment.body["issue"] == number])


@serves("POST", _ISSUE + "/comments")
def create_comment(ask: Ask) -> GitHubAnswer:
    number, text = _writable(ask).body["number"], _fit(ask)
    return Made(_comment_json(ask, records.add_comment(ask.cloud, ask.where, number, ask.user.login, text)))


@serves("PATCH", _COMMENT)
def edit_comment(ask: Ask) -> GitHubAnswer:
    return _comment_json(ask, records.save(ask.cloud, _writable_comment(ask), body=_fit(ask)).body)


@serves("DELETE", _COMMENT)
def delete_comment(ask: Ask) -> GitHubAnswer:
    ask.cloud.store.delete(records.COMMENT, _writable_comment(ask).name)
    return None


@serves("GET", _ISSUE + "/labels")
def list_issue_labels(ask: Ask) -> GitHubAnswer:
    return Paged(_issue(ask).body["labels"])


@serves("POST", _ISSUE + "/labels")
def add_issue_labels(ask: Ask) -> GitHubAnswer:
    found = _writable(ask)
    labels = {label["name"]: label for label in found.body["labels"]} | {
        name: {"name": name} for name in ask.body["labels"]
    }
    return records.save(ask.cloud, found, labels=list(labels.values())).body["labels"]


@serves("DELETE", _ISSUE + "/labels/{label}")
def remove_issue_label(ask: Ask) -> GitHubAnswer:
    found, gone = _writable(ask), {"name": ask.ids["label"]}
    if gone not in found.body["labels"]:
        raise missing()
    kept = [label for label in found.body["labels"] if label != gone]
    return records.save(ask.cloud, found, labels=kept).body["labels"]


@serves("POST", _REPO + "/labels")
def create_label(ask: Ask) -> GitHubAnswer:
    """Nothing is kept of a label but its name, where an issue has it."""
    ask.demand("issues", "pull-requests")
    return Made(ask.body)


@serves("GET", _REPO + "/pulls")
def list_pulls(ask: Ask) -> GitHubAnswer:
    state, base = ask.query.get("state", "open"), ask.query.get("base")
    found = [each for each in _pulls(ask) if state in ("all", each["state"]) and base in (None, each["base"]["ref"])]
    return Paged(found[::-1])


@serves("GET", _REPO + "/pulls/{number}")
def get_pull(ask: Ask) -> GitHubAnswer:
    found = _issue(ask).body
    if "pull_request" not in found:
        raise missing()
    return _pull_json(ask, found)


@serves("GET", _REPO + "/commits/{sha}/pulls")
def list_pulls_of_commit(ask: Ask) -> GitHubAnswer:
    """Empty for the pull request of a fork: its commits are not in this repository's tree.

    Seen by many who relied on it: https://github.com/learningequality/kolibri/pull/14719 (2026-05-15).
    """
    own = (ask.ids["sha"], ask.where)
    return Paged([each for each in _pulls(ask) if (each["head"]["sha"], each["head"]["repo"]["full_name"]) == own])


def _pulls(ask: Ask) -> list[JsonObject]:
    found = records.each(ask.cloud, records.ISSUE, ask.where)
    return [_pull_json(ask, each.body) for each in found if "pull_request" in each.body]


def _shown(ask: Ask, body: JsonObject) -> JsonObject:
    """A pull request is shown as an issue too."""
    return {**body, "url": f"{ask.base}/repos/{ask.where}/issues/{body['number']}"}


def _pull_json(ask: Ask, body: JsonObject) -> JsonObject:
    shown = _shown(ask, body)
    return {**shown, "issue_url": shown["url"], "url": f"{ask.base}/repos/{ask.where}/pulls/{body['number']}"}


def _comment_json(ask: Ask, body: JsonObject) -> JsonObject:
    return {**body, "url": f"{ask.base}/repos/{ask.where}/issues/comments/{body['id']}"}


def _issue(ask: Ask) -> Resource:
    return records.get(ask.cloud, records.ISSUE, records.key(ask.where, ask.number("number")))


def _writable(ask: Ask) -> Resource:
    """An issue or a pull request that the token may change."""
    found = _issue(ask)
    ask.demand("issues", *(("pull-requests",) if "pull_request" in found.body else ()))
    return found


def _writable_comment(ask: Ask) -> Resource:
    ask.demand("issues", "pull-requests")
    return records.get(ask.cloud, records.COMMENT, records.key(ask.where, ask.number("id")))


def _fit(ask: Ask) -> str:
    """The text of the request. Raises 422 where it is too long."""
    text = ask.body.get("body") or ""
    if len(text) > LONGEST_BODY:
        raise GitHubError(422, f"Validation Failed: body is too long (maximum is {LONGEST_BODY} characters)")
    return text
