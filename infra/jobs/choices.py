"""What may be chosen of a job where a command offers it, and what is chosen where nobody does; quick to load."""

from __future__ import annotations

from typing import Final

BACKENDS: Final = ("auto", "gke", "ray", "local")
PREEMPTIONS: Final = 10_000
FAILURES: Final = 10
SIGNALS: Final = ("TERM", "INT", "USR1", "USR2", "HUP")
"""Signals that a program may take as the order to write a checkpoint."""
STEPS: Final = ("local", "cluster", "cpu", "tpu")
"""What a smoke test proves: this machine runs a job; a cluster does; it runs a training; and one on a TPU."""
