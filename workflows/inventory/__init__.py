"""Workflow files before and after, in figures, against what was promised. Pure."""

from workflows.inventory.before import Before, load_before, read_before
from workflows.inventory.figures import Figure, figures

__all__ = ["Before", "Figure", "figures", "load_before", "read_before"]
