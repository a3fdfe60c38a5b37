"""How long a supervisor waits, and how often it tries. Seconds, where nothing else is said."""

from __future__ import annotations

from typing import Final

LOOK_EVERY: Final = 15
"""Between two looks at the orders."""
GATHER_EVERY: Final = 5
"""Between two looks of the hosts of a slice at each other."""
MOST_LOOKS: Final = 12
"""So many looks at the other hosts, and worker 0 looks at itself again."""
LONGEST_WAIT: Final = 300
"""The longest pause of its own; a longer one only where the broker asks for it."""
LONGEST_ASKED: Final = 3600
"""The longest that it waits because the broker says so."""
FIRST_DELAY: Final = 5
UNFIT_FOR: Final = 60
"""Until a VM that is not fit looks at itself again."""
MOST_IDLE_ENDS: Final = 5
"""Runners in a row that end at once without a job."""
AT_ONCE: Final = 60
"""GitHub removes a runner that is idle for longer."""
LONGEST_END: Final = 120
"""Within which a runner ends after its job."""
REPORT_EVERY: Final = 300
REPORT_APART: Final = 15
"""Between two reports of a boot, whose steps are events of their own."""
MOST_EVENTS: Final = 50
ASK_APART: Final = 60
"""The broker counts whom it grants, and maybe whose answer was lost: A_TURN of infra/fleet/broker/decide.py."""
LEAST_DISK_MB: Final = 20480
MOST_SKEW: Final = 30
SSH_PORT: Final = 2222

MOST_PROCESSES: Final = 32768
"""A job may fill its own limits and not the machine's: of the processes and threads of a 64-bit kernel, 4 million at
most, 90 for each of the 360 vCPUs of the largest TPU VM (ct6e-standard-8t in infra/model/facts/accelerators.yaml).
"""
SPARE_MEMORY_MB: Final = 4096
"""Of the machine: the supervisor, docker and Google's agents go on, and their memory is not a job's."""
