from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infra.operations.checkout.checks import scan

HARMLESS = """\
digest: sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251
    --hash=sha256:e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984
token_secret = "tidepool-github-app-key"
password = passphrase(home)
"""
# In pieces, so that this file has none itself.
GITHUB_TOKEN = "ghp_" + "a1B2" * 9
PRIVATE_KEY = "-----BEGIN PRIVATE " + "KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
URL_WITH_PASSWORD = "https://bot:" + "hunter2hunter2@github.com/x/y"
CLOUD_KEY = "AKIA" + "IOSFODNN7EXAMPLQ"


FILES = ("deploy.yaml", "Dockerfile", "requirements.lock", "notes.md")


def scanned(*paths: Path) -> subprocess.CompletedProcess[str]:
    tool, *arguments = scan(paths)
    command = [Path(sys.executable).parent / tool, *arguments]
    return subprocess.run(command, cwd=paths[0].parent, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("secret", [GITHUB_TOKEN, PRIVATE_KEY, URL_WITH_PASSWORD, CLOUD_KEY])
def test_a_planted_secret_is_found_with_its_line_in_any_file_and_not_printed(secret: str, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in FILES]
    for path in paths:
        path.write_text(f"{HARMLESS}value: {secret}\n")
    done = scanned(*paths)
    assert done.returncode == 1
    said = done.stdout.replace(str(tmp_path) + "/", "")
    assert [name for name in FILES if f"{name}:5" not in said] == []
    assert secret.splitlines()[-1] not in done.stdout + done.stderr


def test_digests_checksums_and_names_of_secrets_are_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "bases.yaml"
    path.write_text(HARMLESS)
    assert scanned(path).returncode == 0


def test_a_marked_line_passes_and_its_neighbours_do_not(tmp_path: Path) -> None:
    path = tmp_path / "examples.py"
    path.write_text(f'A = "{GITHUB_TOKEN}"  # pragma: allowlist secret\n')
    assert scanned(path).returncode == 0
    path.write_text(path.read_text() + f'B = "{GITHUB_TOKEN}"\n')
    assert scanned(path).returncode == 1
