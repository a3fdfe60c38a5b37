"""The comment of a pull request: an engine's plan with the meaning of the edit on top, as GitHub's markdown."""

from infra.preview.comment.document import Preview, comment

__all__ = ["Preview", "comment"]
