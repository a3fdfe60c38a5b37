"""Takes a label off a pull request: what was asked for was asked of another commit. Told by NUMBER and LABEL."""

from __future__ import annotations

import os
import urllib.parse

from workflows.scripts.hub import ask


def main() -> None:
    label = urllib.parse.quote(os.environ["LABEL"], safe="")
    ask("DELETE", f"/issues/{int(os.environ['NUMBER'])}/labels/{label}", absent=True)


if __name__ == "__main__":
    main()
