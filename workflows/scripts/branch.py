"""The branch with the history of results, in a folder. GITHUB_TOKEN goes to git by its environment, never by a command.

Told by HISTORY (the folder) and BRANCH.
"""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

AUTHOR = ("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com")


class GitError(Exception):
    """What git says of a command that it did not do."""


def made() -> Path:
    """The folder, as a repository without a commit."""
    folder = Path(os.environ["HISTORY"])
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    return folder


def remote() -> str:
    return f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}"


def fetched(folder: Path) -> None:
    """The branch as it stands, or nothing where it is not there yet."""
    branch = os.environ["BRANCH"]
    there = git(folder, "ls-remote", "--heads", remote(), f"refs/heads/{branch}").stdout
    if there:
        git(folder, "fetch", "--quiet", "--depth=1", remote(), f"refs/heads/{branch}")
        git(folder, "checkout", "--quiet", "--force", "-B", branch, "FETCH_HEAD")
    else:
        git(folder, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
        # A commit that an earlier try did not bring there is none of the branch's.
        git(folder, "update-ref", "-d", f"refs/heads/{branch}", check=False)


def git(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    token = base64.b64encode(f"x-access-token:{os.environ['GITHUB_TOKEN']}".encode()).decode()
    name, mail = AUTHOR
    environ = {
        **os.environ,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{os.environ['GITHUB_SERVER_URL']}/.extraheader",
        "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {token}",
        **{f"GIT_{who}_NAME": name for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": mail for who in ("AUTHOR", "COMMITTER")},
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environ, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise GitError(f"git {arguments[0]}: {' '.join(done.stderr.split())}")
    return done
