"""Refuses to go on unless a commit is still the head of its open pull request. Told by NUMBER and SHA."""

from __future__ import annotations

import os

from workflows.scripts.hub import ask


def main() -> None:
    found = ask("GET", f"/pulls/{int(os.environ['NUMBER'])}")
    if found["state"] != "open" or found["head"]["sha"] != os.environ["SHA"]:
        raise SystemExit("::error::the pull request is closed or has another head: set the label again for that")


if __name__ == "__main__":
    main()
