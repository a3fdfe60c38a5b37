"""bases.yaml: every week, which bases and downloads of images have something newer."""

from __future__ import annotations

from typing import Final

from infra.model.federation import MAIN
from workflows.builders import (
    Access,
    Concurrency,
    Grant,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Schedule,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowDispatch,
    context,
)
from workflows.own.steps import TOKEN, File, OrderedWorld, made, script, set_up_without_token
from workflows.steps import READ_CONTENTS, checkout

WEEKLY: Final = "41 5 * * 1"
"""Before the week's work, and not on the hour, when GitHub starts late."""
TITLE: Final = "Newer bases of images"
LABEL: Final = "tidepool-bases"


def file(around: OrderedWorld) -> File:
    jobs, sources = made(around, look)
    workflow = Workflow(
        name="Newer Bases",
        header="""\
Asks the registries every week what images/bases.yaml could pin instead, and keeps one issue of it: opened, edited, and
closed when all is as pinned. Without newer bases the scan refuses builds sooner or later.""",
        triggers=Triggers.of(Schedule([WEEKLY]), WorkflowDispatch()),
        concurrency=Concurrency("bases", Purpose.WATCH),
        jobs=jobs,
    )
    return File(workflow, sources)


def look(around: OrderedWorld) -> Job:
    return Job(
        id="look",
        purpose=Purpose.WATCH,
        runs_on=Hosted(),
        timeout_minutes=30,
        condition=context("github.ref").equals(MAIN),
        permissions=Permissions.of(READ_CONTENTS, Grant(Scope.ISSUES, Access.WRITE, "one issue of newer bases")),
        steps=[
            checkout(around.world),
            set_up_without_token("images bases"),
            Step(
                name="Ask the registries",
                id="ask",
                timeout_minutes=20,
                run=script(
                    "code=0",
                    './tidepool images bases --ask >"$RUNNER_TEMP/bases.txt" 2>&1 || code=$?',
                    'cat "$RUNNER_TEMP/bases.txt" >>"$GITHUB_STEP_SUMMARY"',
                    'echo "code=$code" >>"$GITHUB_OUTPUT"',
                ),
                why="1 says that something differs or did not answer; anything else is a fault of the command.",
            ),
            Step(
                name="Keep the issue",
                env={
                    "GH_TOKEN": TOKEN,
                    "REPOSITORY": context("github.repository"),
                    "CODE": context("steps.ask.outputs.code"),
                },
                timeout_minutes=5,
                run=script(
                    'case "$CODE" in 0 | 1) ;; *) exit "$CODE" ;; esac',
                    f'number=$(gh issue list --repo "$REPOSITORY" --label {LABEL} --state open --json number '
                    "--jq '.[0].number // empty')",
                    'if [ "$CODE" = 0 ]; then',
                    '  if [ -n "$number" ]; then gh issue close "$number" --repo "$REPOSITORY"; fi',
                    "  exit 0",
                    "fi",
                    "{",
                    "  echo '```'",
                    '  cat "$RUNNER_TEMP/bases.txt"',
                    "  echo '```'",
                    '} >"$RUNNER_TEMP/issue.md"',
                    'if [ -n "$number" ]; then',
                    '  gh issue edit "$number" --repo "$REPOSITORY" --body-file "$RUNNER_TEMP/issue.md"',
                    "else",
                    f'  gh label create {LABEL} --repo "$REPOSITORY" --force',
                    f"""  gh issue create --repo "$REPOSITORY" --title '{TITLE}' --label {LABEL} """
                    '--body-file "$RUNNER_TEMP/issue.md"',
                    "fi",
                ),
            ),
        ],
    )
