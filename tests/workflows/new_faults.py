"""Faults that generated files had no rule for: forty of them, each put into one file by a change of its text.

None of them is in the corpus of old files. found is the rule that finds it,
or the tool and its rule; where none does, beyond says why not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OWN, MARIN, SERVING = "own", "marin", "serving"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. old: what stands in the file, a pattern; new: what takes its place, once."""

    said: str
    repository: str
    file: str
    old: str
    new: str
    found: str = ""
    beyond: str = ""

    def put(self, text: str) -> str:
        changed, count = re.subn(self.old, self.new, text, count=1)
        assert count, f"{self.file} has nothing like {self.old}"
        return changed


GUARDED = r"    environment: (\$\{\{ needs\.plan\.outputs\.environment \}\}|pypi)\n"
UV = r"      - uses: astral-sh/setup-uv@.*\n(?:        .*\n)+"
CHECKOUT = r"      - uses: actions/checkout@.*\n(?:        .*\n)+"
GOOGLE = r"      - uses: google-github-actions/auth@.*\n(?:        .*\n)+"
AFTER_CLEAN_UP = r"((?s:\n  clean-up:\n.*?))"
NIGHTLY, ASKED, LABEL = "tpu-nightly.yaml", "tpu-pull-request.yaml", "tpu-label.yaml"
PUBLISH, TESTS, ITEST = "levanter-publish_dev.yaml", "levanter-tests.yaml", "levanter-gpt2_small_itest.yaml"

FAULTS: tuple[Fault, ...] = (
    Fault("the apply asks nobody", OWN, "apply.yaml", GUARDED, "", "asks-first"),
    Fault("the package goes out without an environment", MARIN, PUBLISH, GUARDED, "", "asks-first"),
    Fault("the second clean-up runs only after success", SERVING, NIGHTLY, AFTER_CLEAN_UP + r"    if: always\(\).*\n",
          r"\1", "clean-up-always"),
    Fault("the second clean-up is skipped in a cancelled run", MARIN, ITEST, AFTER_CLEAN_UP + r"if: always\(\)",
          r"\1if: ${{ !cancelled() }}", "clean-up-always"),
    Fault("the first clean-up runs only after success", SERVING, ASKED,
          r"(- name: Delete it\n        if: )always\(\)", r"\1success()", "clean-up-always"),
    Fault("the clean-up looks for another run", SERVING, NIGHTLY,
          AFTER_CLEAN_UP + r"RUN_ID: \$\{\{ github\.run_id \}\}", r"\1RUN_ID: ${{ github.run_number }}",
          "clean-up-same-run"),
    Fault("the clean-up looks in another zone", MARIN, ITEST, AFTER_CLEAN_UP + r"ZONES: .*", r"\1ZONES: us-east5-a",
          "clean-up-same-run"),
    Fault("a VM may be deleted before its job is over", MARIN, ITEST, r'"spare": \d+', '"spare": 1',
          "machine-outlives-job"),
    Fault("a VM runs an image by its tag", SERVING, NIGHTLY, r'("image": ".*)@sha256:\w+', r"\1",
          "run-image-by-digest"),
    Fault("the issue may not be written", SERVING, NIGHTLY, r"      issues: write.*\n", "      contents: read\n",
          "rights-suffice"),
    Fault("the comment may not be written", SERVING, ASKED, r"      pull-requests: write.*\n", "      contents: read\n",
          "rights-suffice"),
    Fault("the tests may not be started", SERVING, LABEL, r"      actions: write.*\n", "", "rights-suffice"),
    Fault("the results' file may not be started", SERVING, "test-results.yaml", r"      actions: write.*",
          "      contents: read", "rights-suffice"),
    Fault("the reviewed plan may not be read", OWN, "apply.yaml", r"      actions: read.*\n", "", "rights-suffice"),
    Fault("the package index does not know the job", MARIN, PUBLISH, r"id-token: write", "contents: read",
          "rights-suffice"),
    Fault("the drift may not be told", OWN, "drift.yaml", r"      issues: write.*\n", "", "rights-suffice"),
    Fault("two legs upload one artifact", SERVING, "tests.yaml", r"    name: 'Tests: unit'\n",
          "    strategy:\n      fail-fast: false\n      matrix:\n        python: ['3.11', '3.12']\n",
          "artifact-name-once"),
    Fault("a passed tree is any tree", SERVING, "tests.yaml", r"-\$\{\{ hashFiles\(.*\) \}\}", "", "cache-told-apart"),
    Fault("the started file has another name", SERVING, LABEL, r"FILE: tpu-pull-request\.yaml",
          "FILE: tpu-pull-requests.yaml", "called-exists"),
    Fault("the started file has another input", SERVING, ASKED, r"      sha:\n", "      commit:\n", "called-exists"),
    Fault("the started file hears of no start", SERVING, ASKED, r"(?s:  workflow_dispatch:\n.*?permissions)",
          "  repository_dispatch:\npermissions", "called-exists"),
    Fault("the images are started by another name", MARIN, "docker-images.yaml", r"gh workflow run docker-images\.yaml",
          "gh workflow run docker-image.yaml", "called-exists"),
    Fault("the branch is published in place of the tested commit", MARIN, PUBLISH, r"(ref: .*)workflow_run\.head_sha",
          r"\1workflow_run.head_branch", "tested-commit-stays"),
    Fault("a tag's commit is published as the branch's", MARIN, PUBLISH,
          r"(?s:      - name: Check that main has.*?)(      - uses: actions/checkout)", r"\1", "branch-is-proven"),
    Fault("a fork's tests need a secret", MARIN, "marin-unit-tests.yaml", r"(secrets\.\w+) \|\| ''", r"\1",
          "secret-for-forks"),
    Fault("a red build cancels the green one's publishing", MARIN, PUBLISH,
          r"(group: levanter-publish_dev).*", r"\1", "queue-keeps-work"),
    Fault("a cancelled build is published", MARIN, PUBLISH, r"conclusion == 'success'", "conclusion != 'failure'",
          "conclusion-tested"),
    Fault("the version counts one commit", MARIN, PUBLISH, r"          fetch-depth: 0\n", "", "history-is-there"),
    Fault("the plan compares with nothing", OWN, "apply.yaml", r"          fetch-depth: 2\n", "", "history-is-there"),
    Fault("the package's name is gone", MARIN, PUBLISH, r"        env:\n          PACKAGE: levanter\n", "",
          "variable-is-set"),
    Fault("the outcome is gone from the issue", SERVING, NIGHTLY, r"          LABELS: .*\n", "", "variable-is-set"),
    Fault("the leg's jax is gone", MARIN, TESTS, r"          JAX: .*\n", "", "variable-is-set"),
    Fault("the leg's jax has another name", MARIN, TESTS, r"JAX: \$\{\{ matrix\.jax \}\}", "JAX: ${{ matrix.version }}",
          "actionlint/expression"),
    Fault("the commit has another name", SERVING, ASKED, r"SHA: \$\{\{ inputs\.sha \}\}", "SHA: ${{ inputs.commit }}",
          "actionlint/expression"),
    Fault("nothing is checked out", MARIN, TESTS, CHECKOUT, "", "prepared-first"),
    Fault("uv is not there", MARIN, TESTS, UV, "", "prepared-first"),
    Fault("the clean-up has no identity", SERVING, NIGHTLY, AFTER_CLEAN_UP + GOOGLE, r"\1", "prepared-first"),
    Fault("any runner takes the TPU tests", MARIN, TESTS, r"\[self-hosted, '\$\{\{ matrix\.pool \}\}'\]",
          "[self-hosted]", "runner-has-labels"),
    Fault("the status is asked for in a variable", MARIN, ITEST, r"PROJECT: .*", "PROJECT: ${{ success() }}",
          "actionlint/expression"),
    Fault("a step asks for a job's failure", SERVING, "tests.yaml", r"if: \$\{\{ !cancelled\(\) \}\}",
          "if: failure('lint')", "actionlint/expression"),
    Fault("a job waits for one that has another name", MARIN, PUBLISH, r"needs: build", "needs: built",
             "actionlint/job-needs"),
    Fault("an if is half in braces", OWN, "plan.yaml", r"    if: (.*) && (.*)", r"    if: ${{ \1 }} && \2",
             "actionlint/if-cond"),
    Fault("a script holds a title", SERVING, "tests.yaml", r"mkdir -p results",
             "mkdir -p '${{ github.event.pull_request.title }}'", "zizmor/template-injection"),
    Fault("an action is named by its tag", SERVING, "tests.yaml", r"(uses: actions/checkout)@\w+", r"\1@v5",
             "zizmor/unpinned-uses"),
    Fault("an axis is empty", MARIN, TESTS, r"python: \['3\.11'\]", "python: []", "matrix-fits"),
    Fault("another label is waited for", SERVING, LABEL, r"github\.event\.label\.name == 'run-tpu-tests'",
          "github.event.label.name == 'run-tpu-test'",
          beyond="which labels a repository has, GitHub alone knows; the golden table of the file shows that the label "
          "starts nothing"),
    Fault("another account is taken", MARIN, ITEST, r"tp-\w+-run-train-v4@", "tidepool-ci-image-builder@",
          beyond="whom an account lets in is Google's policy, which the stack declares; the token exchange refuses it"),
    Fault("the package is built elsewhere", MARIN, PUBLISH, r"path: dist/", "path: build/",
          beyond="what a program writes where is not seen; if-no-files-found: error ends the job"),
    Fault("the artifact is kept for a day", SERVING, NIGHTLY, r"retention-days: \d+", "retention-days: 1",
          beyond="how long something is wanted is nobody's rule; the digest of the file tells that it was edited"),
)  # fmt: skip
