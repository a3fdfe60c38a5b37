"""Brings the history of results into a folder, which stays empty while there is none. Told by HISTORY and BRANCH."""

from __future__ import annotations

from workflows.scripts.branch import fetched, made


def main() -> None:
    fetched(made())


if __name__ == "__main__":
    main()
