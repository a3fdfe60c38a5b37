"""Issues, their comments and labels, of pull requests too: what GitHub's `/issues` and `/labels` paths do.

A token of a workflow needs `issues: write`, or on a pull request `pull-requests: write`, for each change.
"""

from __future__ import annotations

from bench.cloud.github import records
from bench.cloud.github.routes import Ask, GitHubAnswer, Made, Paged, missing, serves, unprocessable
from bench.cloud.store import Resource

# https://docs.github.com/rest/issues/comments and the web form's own limit; read 2026-11-21.
LONGEST_BODY = 65_536
_REPO = "/repos/{owner}/{name}"
_ISSUE = "/repos/{owner}/{name}/issues/{number}"


@serves("GET", _REPO + "/issues")
def list_issues(ask: Ask) -> GitHubAnswer:
    state, wanted = ask.query.get("state", "open"), set(filter(None, ask.query.get("labels", "").lower().split(",")))
    shown = [
        records.issue_json(ask.cloud, ask.base, ask.repo, found)
        for found in records.each(ask.cloud, records.ISSUE, ask.repo)
        if state in ("all", found.body["state"])
        and ask.query.get("creator") in (None, found.body["author"])
        and wanted <= {label.lower() for label in found.body["labels"]}
    ]
    return Paged(shown if ask.query.get("direction") == "asc" else shown[::-1])


@serves("POST", _REPO + "/issues")
def create_issue(ask: Ask) -> GitHubAnswer:
    ask.demand("issues")
    text, labels = _body(ask), ask.body.get("labels", [])
    made = records.add_issue(
        ask.cloud, ask.repo, title=ask.body["title"], body=text, author=ask.user.login, labels=labels
    )
    return Made(records.issue_json(ask.cloud, ask.base, ask.repo, made))


@serves("GET", _ISSUE)
def get_issue(ask: Ask) -> GitHubAnswer:
    return records.issue_json(ask.cloud, ask.base, ask.repo, _issue(ask))


@serves("PATCH", _ISSUE)
def edit_issue(ask: Ask) -> GitHubAnswer:
    found, text = _writable(ask), _body(ask)
    changes = {name: ask.body[name] for name in ("title", "state") if name in ask.body}
    saved = records.save(ask.cloud, found, **changes, **({"body": text} if "body" in ask.body else {}))
    return records.issue_json(ask.cloud, ask.base, ask.repo, saved)


@serves("GET", _ISSUE + "/comments")
def list_comments(ask: Ask) -> GitHubAnswer:
    found = records.comments(ask.cloud, ask.repo, _issue(ask).body["number"])
    return Paged([records.comment_json(ask.base, ask.repo, comment) for comment in found])


@serves("POST", _ISSUE + "/comments")
def create_comment(ask: Ask) -> GitHubAnswer:
    number = _writable(ask).body["number"]
    made = records.add_comment(ask.cloud, ask.repo, number, body=_body(ask), author=ask.user.login)
    return Made(records.comment_json(ask.base, ask.repo, made))


@serves("PATCH", _REPO + "/issues/comments/{id}")
def edit_comment(ask: Ask) -> GitHubAnswer:
    found = _writable_comment(ask)
    saved = records.save(ask.cloud, found, body=_body(ask))
    return records.comment_json(ask.base, ask.repo, saved)


@serves("DELETE", _REPO + "/issues/comments/{id}")
def delete_comment(ask: Ask) -> GitHubAnswer:
    found = _writable_comment(ask)
    ask.cloud.store.delete(records.COMMENT, found.name)
    return None


@serves("GET", _ISSUE + "/labels")
def list_issue_labels(ask: Ask) -> GitHubAnswer:
    return Paged(records.labels_json(ask.cloud, ask.repo, _issue(ask)))


@serves("POST", _ISSUE + "/labels")
def add_issue_labels(ask: Ask) -> GitHubAnswer:
    found = _writable(ask)
    had = found.body["labels"]
    known = {label.lower() for label in had}
    more = [label for label in ask.body["labels"] if label.lower() not in known]
    return records.labels_json(ask.cloud, ask.repo, records.save(ask.cloud, found, labels=[*had, *more]))


@serves("DELETE", _ISSUE + "/labels/{label}")
def remove_issue_label(ask: Ask) -> GitHubAnswer:
    found = _writable(ask)
    kept = [label for label in found.body["labels"] if label.lower() != ask.ids["label"].lower()]
    if len(kept) == len(found.body["labels"]):
        raise missing()
    return records.labels_json(ask.cloud, ask.repo, records.save(ask.cloud, found, labels=kept))


@serves("POST", _REPO + "/labels")
def create_label(ask: Ask) -> GitHubAnswer:
    ask.demand("issues", "pull-requests")
    name = ask.body["name"]
    if ask.cloud.store.find(records.LABEL, records.key(ask.repo, name)):
        raise unprocessable("name", "already_exists")
    content = {
        "id": records.next_id(ask.cloud),
        "name": name,
        "color": ask.body["color"],
        "description": ask.body.get("description"),
    }
    return Made(ask.cloud.store.insert(records.LABEL, records.key(ask.repo, name), content, now=ask.cloud.now).body)


def _issue(ask: Ask) -> Resource:
    return records.issue(ask.cloud, ask.repo, ask.number("number"))


def _writable(ask: Ask, number: int | None = None) -> Resource:
    """An issue or a pull request that the token may change: of the path, where no number is given."""
    found = records.issue(ask.cloud, ask.repo, ask.number("number") if number is None else number)
    ask.demand("issues", *(("pull-requests",) if found.body["pull"] else ()))
    return found


def _writable_comment(ask: Ask) -> Resource:
    found = records.named(ask, records.COMMENT)
    _writable(ask, found.body["issue"])
    return found


def _body(ask: Ask) -> str:
    text = ask.body.get("body") or ""
    if len(text) > LONGEST_BODY:
        raise unprocessable("body", "custom", message=f"body is too long (maximum is {LONGEST_BODY} characters)")
    return text
