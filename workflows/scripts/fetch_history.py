"""Fetches the history of results into a folder, which stays empty where there is none or GitHub gives none.

Told by HISTORY and BRANCH. What cannot be compared is said, and fails nothing.
"""

from __future__ import annotations

from workflows.scripts.branch import GitError, fetched, made


def main() -> None:
    folder = made()
    try:
        fetched(folder)
    except GitError as refusal:
        print(f"::warning::the history could not be fetched: {refusal}")


if __name__ == "__main__":
    main()
