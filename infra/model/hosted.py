"""The labels of runners that GitHub runs itself, so that a job with one of them asks nothing of the fleet."""

from typing import Final

HOSTED: Final = frozenset(
    (
        "ubuntu-latest", "ubuntu-24.04", "ubuntu-22.04", "ubuntu-24.04-arm", "ubuntu-22.04-arm", "ubuntu-slim",
        "windows-latest", "windows-2025", "windows-2022", "windows-11-arm",
        "macos-latest", "macos-26", "macos-15", "macos-14", "macos-15-intel", "macos-26-intel",
    )
)  # fmt: skip
"""Standard runners: https://docs.github.com/en/actions/reference/runners/github-hosted-runners (read 2026-11-21)."""
