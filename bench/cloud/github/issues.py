"""Issues, their comments and labels, of pull requests too: what GitHub's `/issues` and `/labels` paths do.

A token of a workflow needs `issues: write`, or on a pull request `pull-requests: write`, for each change.
"""

from __future__ import annotations

from bench.cloud.errors import JsonObject
from bench.cloud.github import records
from bench.cloud.github.routes import Ask, GitHubAnswer, Made, Paged, missing, serves, unprocessable
from bench.cloud.store import Resource

# https://docs.github.com/rest/issues/comments and the web form's own limit; read 2026-11-21.
LONGEST_BODY = 65_536
_REPO = "/repos/{owner}/{name}"


@serves("GET", _REPO + "/issues")
def list_issues(ask: Ask) -> GitHubAnswer:
    wanted_state, creator = ask.query.get("state", "open"), ask.query.get("creator")
    wanted_labels = {label.lower() for label in ask.query.get("labels", "").split(",") if label}
    shown = [
        found
        for found in records.each(ask.cloud, records.ISSUE, ask.repo)
        if wanted_state in ("all", found.body["state"])
        and creator in (None, found.body["author"])
        and wanted_labels <= {label.lower() for label in found.body["labels"]}
    ]
    oldest_first = ask.query.get("direction") == "asc"
    ordered = shown if oldest_first else list(reversed(shown))
    return Paged([records.issue_json(ask.cloud, ask.base, ask.repo, found) for found in ordered])


@serves("POST", _REPO + "/issues")
def create_issue(ask: Ask) -> GitHubAnswer:
    ask.demand("issues")
    made = records.add_issue(
        ask.cloud,
        ask.repo,
        title=ask.text("Issue", "title"),
        body=_body(ask, "Issue", ""),
        author=ask.user.login,
        labels=_labels(ask.body.get("labels", [])),
    )
    return Made(records.issue_json(ask.cloud, ask.base, ask.repo, made))


@serves("GET", _REPO + "/issues/{number}")
def get_issue(ask: Ask) -> GitHubAnswer:
    return records.issue_json(ask.cloud, ask.base, ask.repo, _issue(ask))


@serves("PATCH", _REPO + "/issues/{number}")
def edit_issue(ask: Ask) -> GitHubAnswer:
    found = _writable(ask)
    changes: JsonObject = {}
    if "title" in ask.body:
        changes["title"] = ask.text("Issue", "title")
    if "body" in ask.body:
        changes["body"] = _body(ask, "Issue")
    if "labels" in ask.body:
        changes["labels"] = _labels(ask.body["labels"])
    if "state" in ask.body:
        changes["state"] = ask.text("Issue", "state")
        if changes["state"] not in ("open", "closed"):
            raise unprocessable("Issue", "state", "invalid")
    saved = records.save(ask.cloud, found, **changes)
    return records.issue_json(ask.cloud, ask.base, ask.repo, saved)


@serves("GET", _REPO + "/issues/{number}/comments")
def list_comments(ask: Ask) -> GitHubAnswer:
    found = records.comments(ask.cloud, ask.repo, _issue(ask).body["number"])
    return Paged([records.comment_json(ask.base, ask.repo, comment) for comment in found])


@serves("POST", _REPO + "/issues/{number}/comments")
def create_comment(ask: Ask) -> GitHubAnswer:
    number = _writable(ask).body["number"]
    body = _body(ask, "IssueComment")
    made = records.add_comment(ask.cloud, ask.repo, number, body=body, author=ask.user.login)
    return Made(records.comment_json(ask.base, ask.repo, made))


@serves("PATCH", _REPO + "/issues/comments/{id}")
def edit_comment(ask: Ask) -> GitHubAnswer:
    found = _writable_comment(ask)
    saved = records.save(ask.cloud, found, body=_body(ask, "IssueComment"))
    return records.comment_json(ask.base, ask.repo, saved)


@serves("DELETE", _REPO + "/issues/comments/{id}")
def delete_comment(ask: Ask) -> GitHubAnswer:
    found = _writable_comment(ask)
    ask.cloud.store.delete(records.COMMENT, found.name)
    return None


@serves("GET", _REPO + "/issues/{number}/labels")
def list_issue_labels(ask: Ask) -> GitHubAnswer:
    return Paged(_shown_labels(ask, _issue(ask)))


@serves("POST", _REPO + "/issues/{number}/labels")
def add_issue_labels(ask: Ask) -> GitHubAnswer:
    found = _writable(ask)
    had = found.body["labels"]
    known = {label.lower() for label in had}
    more = [label for label in _labels(ask.body.get("labels", [])) if label.lower() not in known]
    for name in more:
        records.ensure_label(ask.cloud, ask.repo, name)
    return _shown_labels(ask, records.save(ask.cloud, found, labels=[*had, *more]))


@serves("DELETE", _REPO + "/issues/{number}/labels/{label}")
def remove_issue_label(ask: Ask) -> GitHubAnswer:
    found = _writable(ask)
    kept = [label for label in found.body["labels"] if label.lower() != ask.ids["label"].lower()]
    if len(kept) == len(found.body["labels"]):
        raise missing()
    return _shown_labels(ask, records.save(ask.cloud, found, labels=kept))


@serves("POST", _REPO + "/labels")
def create_label(ask: Ask) -> GitHubAnswer:
    ask.demand("issues", "pull-requests")
    name = ask.text("Label", "name")
    if ask.cloud.store.find(records.LABEL, records.key(ask.repo, name)):
        raise unprocessable("Label", "name", "already_exists")
    content = {
        "id": records.next_id(ask.cloud),
        "name": name,
        "color": ask.text("Label", "color", records.NO_COLOR),
        "description": ask.text("Label", "description", ""),
    }
    ask.cloud.store.insert(records.LABEL, records.key(ask.repo, name), content, now=ask.cloud.now)
    return Made(records.label_json(ask.base, ask.repo, content))


@serves("GET", _REPO + "/labels/{label}")
def get_label(ask: Ask) -> GitHubAnswer:
    found = ask.cloud.store.find(records.LABEL, records.key(ask.repo, ask.ids["label"]))
    if found is None:
        raise missing()
    return records.label_json(ask.base, ask.repo, found.body)


def _issue(ask: Ask) -> Resource:
    return records.issue(ask.cloud, ask.repo, ask.number("number"))


def _writable(ask: Ask) -> Resource:
    found = _issue(ask)
    ask.demand("issues", *(("pull-requests",) if found.body["pull"] else ()))
    return found


def _comment(ask: Ask) -> Resource:
    found = ask.cloud.store.find(records.COMMENT, records.key(ask.repo, ask.number("id")))
    if found is None:
        raise missing()
    return found


def _writable_comment(ask: Ask) -> Resource:
    found = _comment(ask)
    pull = records.issue(ask.cloud, ask.repo, found.body["issue"]).body["pull"]
    ask.demand("issues", *(("pull-requests",) if pull else ()))
    return found


def _shown_labels(ask: Ask, found: Resource) -> list[JsonObject]:
    labels = (records.ensure_label(ask.cloud, ask.repo, name) for name in found.body["labels"])
    return [records.label_json(ask.base, ask.repo, label) for label in labels]


def _body(ask: Ask, resource: str, default: str | None = None) -> str:
    text = ask.text(resource, "body", default)
    if len(text) > LONGEST_BODY:
        said = f"body is too long (maximum is {LONGEST_BODY} characters)"
        raise unprocessable(resource, "body", "custom", message=said)
    return text


def _labels(names: object) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise unprocessable("Issue", "labels", "invalid")
    return list(dict.fromkeys(names))
