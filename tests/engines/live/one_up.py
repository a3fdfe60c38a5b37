"""One `up` in a process of its own: `python -m tests.engines.live.one_up JSON`, as `kills` starts it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from infra.engines import EngineName
from tests.engines.live.live_worlds import World

INTERRUPTED = 130


def main() -> int:
    told = json.loads(sys.argv[1])
    world = World(engine=EngineName(told["engine"]), stack=told["stack"], folder=Path(told["folder"]), url=told["url"])
    try:
        return 1 if world.make().up().failed else 0
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
