"""`images/steps/fetch.sh` with git itself: what of a repository is built from, of all that GitHub gives out."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from infra.model.images.steps import bootstrap
from tests.synthetic_lab import the_lab

ROOT = Path(__file__).resolve().parents[2]
ENVIRON = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
}  # fmt: skip


class GitHub:
    """Repositories in a folder, which give out every commit by its digits, as GitHub does those of forks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = ENVIRON | {"GIT_CONFIG_GLOBAL": str(folder / "gitconfig"), "HOME": str(folder)}
        (folder / "gitconfig").write_text(f'[url "file://{folder}/"]\n\tinsteadOf = https://github.com/\n')
        self.commits = {name: self.made(name) for name in ("lab/tidepool", "lab/code")}

    def git(self, name: str, *arguments: str) -> str:
        command = ["git", "-C", str(self.folder / name), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=self.environ).stdout.strip()

    def commit(self, name: str, text: str) -> str:
        (self.folder / name / "file").write_text(text)
        self.git(name, "add", ".")
        self.git(name, "commit", "--quiet", "--message", text)
        return self.git(name, "rev-parse", "HEAD")

    def made(self, name: str) -> dict[str, str]:
        """A branch main of two commits and a merge of a third, and a branch of a fork that was never merged."""
        (self.folder / name).mkdir(parents=True)
        self.git(name, "init", "--quiet", "--initial-branch", "main")
        for key in ("allowAnySHA1InWant", "allowFilter"):
            self.git(name, "config", f"uploadpack.{key}", "true")
        found = {"first": self.commit(name, "first")}
        self.git(name, "checkout", "--quiet", "-b", "reviewed")
        found["within a pull request"] = self.commit(name, "within a pull request")
        self.git(name, "checkout", "--quiet", "-b", "fork", "main")
        found["of a fork"] = self.commit(name, "of a fork")
        self.git(name, "checkout", "--quiet", "main")
        self.git(name, "merge", "--quiet", "--no-ff", "--message", "merged", "reviewed")
        return found | {"newest": self.git(name, "rev-parse", "HEAD")}

    def fetch(self, workspace: Path, **told: str) -> subprocess.CompletedProcess[str]:
        tools = workspace / "tools/bin"
        tools.mkdir(parents=True, exist_ok=True)
        (tools / "sleep").write_text("#!/bin/sh\n")
        (tools / "sleep").chmod(0o755)
        env = self.environ | {
            "WORKSPACE": str(workspace),
            "CHECKOUTS": "recipes lab/tidepool main;source lab/code main",
            **told,
        }
        return subprocess.run(
            ["sh", "-c", bootstrap(the_lab())], env=env, check=False, capture_output=True, text=True, timeout=120
        )


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> GitHub:
    return GitHub(tmp_path_factory.mktemp("github"))


def fetched(workspace: Path) -> dict[str, str]:
    """The commit of each folder."""
    lines = (workspace / "out/sources").read_text().splitlines()
    return {line.split()[0]: line.split()[2] for line in lines}


@pytest.mark.parametrize("named", ["", "first", "newest"])
def test_a_first_parent_of_the_branch_is_built(github: GitHub, tmp_path: Path, named: str) -> None:
    code = github.commits["lab/code"]
    done = github.fetch(tmp_path, SOURCE_REVISION=code.get(named, ""))
    assert done.returncode == 0, done.stderr
    assert fetched(tmp_path) == {
        "recipes": github.commits["lab/tidepool"]["newest"],
        "source": code[named or "newest"],
    }
    assert (tmp_path / "source/file").exists()
    assert not (tmp_path / "history").exists()


@pytest.mark.parametrize("named", ["of a fork", "within a pull request"])
def test_a_commit_that_github_gives_out_and_is_no_first_parent_of_the_branch_is_refused(
    github: GitHub, tmp_path: Path, named: str
) -> None:
    commit = github.commits["lab/code"][named]
    done = github.fetch(tmp_path, SOURCE_REVISION=commit)
    assert done.returncode != 0
    assert f"{commit} is not a first parent of main in lab/code" in done.stderr
    assert not (tmp_path / "source").exists(), "nothing of it is laid out"
    assert not (tmp_path / "out/sources").exists()


def told_of(github: GitHub, workspace: Path, **told: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """A fetch, and what it wrote to Cloud Storage: the last words of each call of curl."""
    tools = workspace / "tools/bin"
    tools.mkdir(parents=True)
    (tools / "wget").write_text('#!/bin/sh\nprintf \'{"access_token": "t0k"}\'\n')
    (tools / "curl").write_text('#!/bin/sh\ncat >"$0.header"\nprintf "%s\\n" "$*" >>"$0.calls"\nexit "${REFUSED:-0}"\n')
    for tool in ("wget", "curl"):
        (tools / tool).chmod(0o755)
    begun = {"BEGUN": "lab-fleet images%2Fbegun%2Ftpu-ci.json", "BUILDER": "cloudbuild", "BUILD": "7"}
    done = github.fetch(workspace, **(begun | told))
    calls = (tools / "curl.calls").read_text().splitlines() if (tools / "curl.calls").exists() else []
    return done, calls


def test_a_build_says_that_it_began_before_anything_can_end_it(github: GitHub, tmp_path: Path) -> None:
    done, (call,) = told_of(github, tmp_path, UNRESOLVED="python")
    assert done.returncode != 0
    assert "images/bases.yaml does not pin: python" in done.stderr
    assert call.endswith("/upload/storage/v1/b/lab-fleet/o?uploadType=media&name=images%2Fbegun%2Ftpu-ci.json")
    said = json.loads(call[call.index("{") : call.index("}") + 1])
    assert said["build"] == "cloudbuild/7"
    assert datetime.fromisoformat(said["began"]).tzinfo
    assert "t0k" not in call + done.stdout + done.stderr


def test_a_build_whose_first_word_is_not_taken_goes_on(github: GitHub, tmp_path: Path) -> None:
    done, calls = told_of(github, tmp_path, REFUSED="22")
    assert (done.returncode, len(calls)) == (0, 3)
    assert "is not written down" in done.stderr


def test_a_job_of_github_has_nobody_to_say_it_to(github: GitHub, tmp_path: Path) -> None:
    done, calls = told_of(github, tmp_path, BEGUN="")
    assert (done.returncode, calls) == (0, [])


def test_no_commit_of_the_recipes_can_be_named(github: GitHub, tmp_path: Path) -> None:
    recipes = github.commits["lab/tidepool"]
    done = github.fetch(tmp_path, RECIPES_REVISION=recipes["of a fork"])
    assert done.returncode == 0, done.stderr
    assert fetched(tmp_path)["recipes"] == recipes["newest"]
