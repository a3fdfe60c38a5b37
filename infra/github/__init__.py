"""Posting to GitHub: the comment of a pull request, its labels, the issue that tells of drift. Reads no stack file."""
