"""Old workflow files beside the generated ones for a while: renamed copies, a comparison, and the way back."""

from workflows.legacy.comparison import comparison
from workflows.legacy.copies import COMPARISON, PAGE, Edits, back, keep, names, overdue

__all__ = ["COMPARISON", "PAGE", "Edits", "back", "comparison", "keep", "names", "overdue"]
