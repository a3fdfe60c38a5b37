"""What GitHub does at an event, as its documentation says: the cases of docs/workflow-events.md.

Each case is a file as far as it matters, an event, what starts, and the documented rule in our own words.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from workflows.events import (
    GitHubEvent,
    dispatch,
    issue_comment,
    merge_group,
    pull_request,
    push,
    schedule,
    workflow_run,
)
from workflows.runs import Given

SOURCES = {
    "events": "https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows",
    "syntax": "https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax",
    "expressions": "https://docs.github.com/en/actions/reference/workflows-and-actions/expressions",
    "skipping": "https://docs.github.com/en/actions/how-tos/manage-workflow-runs/skip-workflow-runs",
    "token": "https://docs.github.com/en/actions/concepts/security/github_token",
    "dispatch": "https://docs.github.com/en/rest/actions/workflows#create-a-workflow-dispatch-event",
    "concurrency": "https://docs.github.com/en/actions/how-tos/write-workflows/choose-when-workflows-run/control-workflow-concurrency",
    "matrix": "https://docs.github.com/en/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations",
    "runner": "https://github.com/actions/runner (src/Sdk/WorkflowParser)",
    "schema": "https://github.com/actions/languageservices (workflow-v1.0.json)",
}
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Case:
    """One event. file: `on` and `jobs` in YAML's flow style. starts: the jobs that start, with their legs."""

    file: str
    event: GitHubEvent
    starts: str
    rule: str
    source: str
    given: Given = field(default_factory=Given)
    said: str = ""
    """The event in words, where its title is not enough."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Runs of one file, a minute apart, each of which takes ten. outcome: how they end, in turn."""

    concurrency: str
    events: tuple[GitHubEvent, ...]
    outcome: str
    rule: str


MANY = tuple(f"docs/{index}.md" for index in range(300))
INPUTS = (
    "on: {workflow_dispatch: {inputs: {fast: {type: boolean}, pool: {default: ci}, "
    "chip: {type: choice, options: [v5e, v6e], default: v5e}}}}"
)
FORK_GUARD = "github.event.pull_request.head.repo.full_name == github.repository"

CASES: tuple[Case, ...] = (
    # Triggers and their filters
    Case("on: push\njobs: {a: {}}", push("change"), "a",
         "Without filters a push to any branch or tag starts the workflow", "events"),
    Case("on: pull_request\njobs: {a: {}}", push(), NOTHING, "An event starts only what names it under `on`", "events"),
    Case("on: {push: {branches: [main]}}\njobs: {a: {}}", push("change"), NOTHING,
         "`branches` lets in the branches that a pattern matches", "syntax"),
    Case("on: {push: {branches: ['releases/**', '!releases/**-alpha']}}\njobs: {a: {}}", push("releases/10-alpha"),
         NOTHING, "Patterns are read in turn: a later one with `!` takes away what an earlier one let in", "syntax"),
    Case("on: {push: {branches: ['*']}}\njobs: {a: {}}", push("feature/x"), NOTHING,
         "`*` matches no slash, `**` does", "syntax"),
    Case("on: {push: {branches: [main]}}\njobs: {a: {}}", push(tag="v1"), NOTHING,
         "Where branches alone are filtered, tags start nothing", "syntax"),
    Case("on: {push: {tags: ['v*']}}\njobs: {a: {}}", push("v1"), NOTHING,
         "Where tags alone are filtered, branches start nothing", "syntax"),
    Case("on: {push: {paths: ['lib/**']}}\njobs: {a: {}}", push(tag="v1", paths=("docs/x",)), "a",
         "Filters of paths are not asked for a tag", "syntax"),
    Case("on: {push: {paths: ['lib/**']}}\njobs: {a: {}}", push(paths=("docs/x",)), NOTHING,
         "`paths` wants one changed file that matches", "syntax", said="push of docs/x"),
    Case("on: {push: {paths-ignore: ['docs/**']}}\njobs: {a: {}}", push(paths=("docs/x", "lib/y")), "a",
         "`paths-ignore` holds back only where every changed file is ignored", "syntax", said="push of docs/x, lib/y"),
    Case("on: {push: {branches: [main], paths: ['lib/**']}}\njobs: {a: {}}", push("change", paths=("lib/y",)), NOTHING,
         "Filters of branches and of paths must both let it in", "syntax", said="push of lib/y to change"),
    Case("on: {push: {paths: ['lib/**']}}\njobs: {a: {}}", push(paths=(*MANY, "lib/y")), NOTHING,
         "A filter of paths looks at the first 300 changed files", "syntax", said="push of 301 files, lib/y the last"),
    Case("on: pull_request\njobs: {a: {}}", pull_request(activity="labeled"), NOTHING,
         "Without `types` a pull request starts at opened, synchronize and reopened", "events", said="label added"),
    Case("on: {pull_request: {types: [labeled]}}\njobs: {a: {}}", pull_request(activity="labeled"), "a",
         "`types` names the activities", "events", said="label added"),
    Case("on: {pull_request: {branches: [main]}}\njobs: {a: {}}", pull_request(base="stable"), NOTHING,
         "`branches` of a pull request looks at its base", "syntax", said="pull request to stable"),
    Case("on: pull_request\njobs: {a: {}}", pull_request(conflict=True), NOTHING,
         "A pull request with a merge conflict starts nothing", "events", said="pull request with a conflict"),
    Case("on: pull_request_target\njobs: {a: {}}", pull_request(conflict=True, target=True), "a",
         "pull_request_target starts also with a merge conflict", "events", said="pull request with a conflict"),
    Case("on: [pull_request]\njobs: {a: {}}", merge_group(), NOTHING,
         "A merge queue starts what names merge_group, not what names pull_request", "events"),
    Case("on: merge_group\njobs: {a: {if: \"startsWith(github.ref, 'refs/heads/gh-readonly-queue/main/')\"}}",
         merge_group(), "a", "The ref of a merge group is a branch of the queue", "events"),
    Case(f"on: pull_request\njobs: {{a: {{if: {FORK_GUARD}}}}}", pull_request(fork=True), NOTHING,
         "A pull request's head says which repository it comes from", "events"),
    Case("on: push\njobs: {a: {}}", push(message="Fix a word [skip ci]"), NOTHING,
         "`[skip ci]` and four more words in the commit's message start nothing", "skipping", said="push, [skip ci]"),
    Case("on: pull_request\njobs: {a: {}}", pull_request(message="[no ci] draft"), NOTHING,
         "The same in the newest commit of a pull request", "skipping", said="pull request, [no ci]"),
    Case("on: pull_request_target\njobs: {a: {}}", pull_request(target=True, message="[skip ci]"), "a",
         "These words hold for push and pull_request alone", "skipping", said="pull_request_target, [skip ci]"),
    Case("on: push\njobs: {a: {}}", push(message="Fix\n\n\nskip-checks: true"), NOTHING,
         "So does a trailer `skip-checks: true`", "skipping", said="push, skip-checks: true"),
    Case("on: push\njobs: {a: {}}", push(by_token=True), NOTHING,
         "What a job's GITHUB_TOKEN does starts no workflow", "token", said="push by a job's token"),
    Case("on: workflow_dispatch\njobs: {a: {}}", dispatch(by_token=True), "a",
         "But for workflow_dispatch and repository_dispatch", "token", said="dispatch by a job's token"),
    Case("on: {schedule: [{cron: '0 2 * * *'}]}\njobs: {a: {if: github.ref == 'refs/heads/main'}}", schedule(), "a",
         "A schedule runs at the newest commit of the default branch", "events"),
    Case("on: {schedule: [{cron: '0 2 * * *'}, {cron: '0 3 * * 0'}]}\n"
         "jobs: {a: {if: github.event.schedule == '0 2 * * *'}, b: {if: github.event.schedule == '0 3 * * 0'}}",
         schedule("0 3 * * 0"), "b", "`github.event.schedule` is the cron that it was", "events"),
    Case("on: {workflow_run: {workflows: [Tests]}}\njobs: {a: {if: github.event.workflow_run.conclusion == 'success'}}",
         workflow_run("failure", "Tests"), NOTHING,
         "workflow_run starts however the other one ended; its conclusion says how", "events"),
    Case("on: {workflow_run: {workflows: [Tests]}}\njobs: {a: {}}", workflow_run("success", "Run Tests"), NOTHING,
         "workflow_run follows workflows by the name that they show", "events", said="end of Run Tests"),
    Case("on: {workflow_run: {workflows: [Tests], branches: [main]}}\njobs: {a: {}}",
         workflow_run("success", "Tests", of="pull_request"), NOTHING,
         "`branches` of workflow_run looks at the branch of the run that ended", "events"),
    Case("on: {workflow_run: {workflows: [Tests]}}\njobs: {a: {if: github.ref == 'refs/heads/main'}}",
         workflow_run("success", "Tests", of="pull_request"), "a",
         "workflow_run itself runs on the default branch", "events"),
    Case("on: issue_comment\njobs: {a: {if: github.event.issue.pull_request}}", issue_comment(on_pull_request=False),
         NOTHING, "A comment's issue has `pull_request` only where it is one", "events"),
    # Inputs of a run by hand
    Case(f"{INPUTS}\njobs: {{a: {{if: inputs.fast}}}}", dispatch({"fast": "false"}), NOTHING,
         "`inputs` keeps booleans as booleans", "syntax", said="dispatch, fast=false"),
    Case(f"{INPUTS}\njobs: {{a: {{if: github.event.inputs.fast}}}}", dispatch({"fast": "false"}), "a",
         "`github.event.inputs` has them as text, and the text `false` is true", "syntax", said="dispatch, fast=false"),
    Case(f"{INPUTS}\njobs: {{a: {{if: github.event.inputs.pool == 'ci'}}}}", dispatch(), "a",
         "Both have the defaults of what was not given", "syntax"),
    Case(f"{INPUTS}\njobs: {{a: {{}}}}", dispatch({"zone": "us-east1-c"}), NOTHING,
         "An input that is not declared is answered with 422", "dispatch", said="dispatch, zone=us-east1-c"),
    Case(f"{INPUTS}\njobs: {{a: {{}}}}", dispatch({"chip": "v4"}), NOTHING,
         "So is a choice that is none of the options", "dispatch", said="dispatch, chip=v4"),
    Case("on: {workflow_dispatch: {inputs: {sha: {required: true}}}}\njobs: {a: {}}", dispatch(), NOTHING,
         "So is a missing input that is required and has no default", "dispatch"),
    # Conditions and needs
    Case("on: push\njobs: {a: {}, b: {needs: a, if: github.ref == 'refs/heads/main'}}", push(), "a",
         "An `if` without a function of the status has success() before it", "expressions",
         Given(results={"a": "failure"}), said="push, a fails"),
    Case("on: push\njobs: {a: {}, b: {needs: a, if: always()}}", push(), "a, b",
         "always() holds whatever happened", "expressions", Given(results={"a": "failure"}), said="push, a fails"),
    Case("on: push\njobs: {a: {}, b: {needs: a}, c: {needs: b, if: failure()}}", push(), "a, c",
         "failure() holds where any job before it failed, however far up", "expressions",
         Given(results={"a": "failure"}), said="push, a fails"),
    Case("on: push\njobs: {a: {if: false}, b: {needs: a, if: always()}, c: {needs: b}}", push(), "b",
         "A job behind a skipped one is skipped too, down the chain, unless it asks for the status", "syntax"),
    Case("on: push\njobs: {a: {}, b: {needs: a, if: '!cancelled()'}, c: {needs: a, if: always()}}", push(), "a, c",
         "In a cancelled run what asks for !cancelled() is skipped, and always() runs", "expressions",
         Given(cancelled=True), said="push, cancelled"),
    Case("on: push\njobs: {Build: {}, b: {needs: build}}", push(), "Build, b",
         "Ids of jobs are compared without regard to case", "runner"),
    Case("on: push\njobs: {a: {}, b: {}, c: {needs: [a, b], if: failure('a')}}", push(), "a, b",
         "In a job's `if`, failure() and success() may name the jobs that are meant; GitHub's schema has it, its "
         "documentation does not", "schema", Given(results={"b": "failure"}), said="push, b fails"),
    Case("on: push\njobs: {a: {continue-on-error: '${{ matrix.new }}', strategy: {matrix: {new: [true]}}}, "
         "b: {needs: a}}", push(), "a, b",
         "`continue-on-error` may be an expression, of the leg's values too", "syntax",
         Given(results={"a": "failure"}), said="push, a fails"),
    Case("on: push\njobs: {a: {if: github.ref == 'REFS/HEADS/MAIN'}}", push(), "a",
         "Text is compared without regard to case", "expressions"),
    Case("on: push\njobs: {a: {}, b: {needs: a, if: needs.a.outputs.go == true}}", push(), "a",
         "Outputs are text, and unlike types are compared as numbers: `'true'` is none", "expressions",
         Given(outputs={"a": {"go": "true"}}), said="push, go is 'true'"),
    Case("on: {pull_request: {types: [labeled]}}\n"
         "jobs: {a: {if: \"contains(github.event.pull_request.labels.*.name, 'tpu')\"}}",
         pull_request(activity="labeled", labels=["TPU"]), "a",
         "`*` takes the property of each, and contains() does without regard to case", "expressions", said="label TPU"),
    Case("on: push\njobs: {a: {if: '${{ false }} && true'}}", push(), "a",
         "Text beside `${{ }}` makes the whole a text, which is true", "expressions"),
    # Matrices
    Case("on: push\njobs: {a: {strategy: {matrix: {v: [1, 2], os: [x, y], exclude: [{v: 1, os: x}], "
         "include: [{v: 3}]}}}}", push(), "a 4 times",
         "The product of the axes, less what `exclude` matches, and what `include` adds besides", "matrix"),
    Case("on: push\njobs: {a: {strategy: {matrix: {v: [1, 2], include: [{new: 5}]}}}}", push(), "a 2 times",
         "An `include` that contradicts no leg extends all of them", "matrix"),
    Case("on: push\njobs: {a: {}, b: {needs: a, strategy: {matrix: {v: '${{ fromJSON(needs.a.outputs.legs) }}'}}}}",
         push(), "a, b 2 times", "An axis may be computed from an output", "matrix",
         Given(outputs={"a": {"legs": "[1, 2]"}}), said="push, legs is [1, 2]"),
    Case("on: push\njobs: {a: {}, b: {needs: a, strategy: {matrix: {v: '${{ fromJSON(needs.a.outputs.legs) }}'}}}, "
         "c: {needs: b, if: failure()}}", push(), "a, c",
         "An axis without values fails the job", "runner", Given(outputs={"a": {"legs": "[]"}}),
         said="push, legs is []"),
)  # fmt: skip

RUNS: tuple[Waits, ...] = (
    Waits("group: g", (push(title="1"), push(title="2"), push(title="3")),
          "1 runs; 2 is cancelled while it waits; 3 runs",
          "One runs and one waits; who comes next takes the place of the one that waits"),
    Waits("group: g\ncancel-in-progress: true", (push(title="1"), push(title="2")),
          "1 is cancelled while it runs; 2 runs", "`cancel-in-progress` ends the one that runs"),
    Waits("group: tests-${{ github.ref }}", (push("a", title="1"), push("b", title="2")), "1 runs; 2 runs",
          "Groups of other names do not meet"),
    Waits("group: ${{ github.ref_name }}", (push("Prod", title="1"), push("prod", title="2"), push("PROD", title="3")),
          "1 runs; 2 is cancelled while it waits; 3 runs", "The name of a group is compared without regard to case"),
    Waits("group: g\ncancel-in-progress: ${{ github.event_name == 'pull_request' }}",
          (push(title="1"), pull_request(title="2"), push(title="3")),
          "1 is cancelled while it runs; 2 runs; 3 runs", "`cancel-in-progress` may be an expression, of who comes"),
    Waits("group: g\nqueue: max", (push(title="1"), push(title="2"), push(title="3")), "1 runs; 2 runs; 3 runs",
          "With `queue: max` up to a hundred wait, and none replaces another"),
)  # fmt: skip
