"""A commit's status, by which a check that ran elsewhere can be required of a pull request.

Told by SHA (the commit that was tested), CONTEXT (the name to require), OUTCOME and TEXT. An outcome is `pending`, or
how a job ended: what is neither well nor red, such as a run that was cut off, is an error. GitHub keeps the newest of a
name.
"""

from __future__ import annotations

import os
import re

from workflows.scripts.hub import ask, run_url

STATES = {"pending": "pending", "success": "success", "failure": "failure"}
LONGEST = 140


def main() -> None:
    told = os.environ
    if not re.fullmatch(r"[0-9a-f]{40}", told["SHA"]):
        raise SystemExit("::error::a status is of a whole commit")
    state = STATES.get(told["OUTCOME"], "error")
    said = {"state": state, "context": told["CONTEXT"], "description": told["TEXT"][:LONGEST], "target_url": run_url()}
    ask("POST", f"/statuses/{told['SHA']}", said)
    print(f"{told['CONTEXT']} is {state} on {told['SHA']}")


if __name__ == "__main__":
    main()
