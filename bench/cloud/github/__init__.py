"""The local GitHub: its REST API as the command line and the controller use it, under one base path of the local cloud.

GitHub publishes no discovery document, so what is served is the explicit table that the modules here fill in.
"""

from bench.cloud.github import apps, issues, repositories, runners, seed, work

__all__ = ["apps", "issues", "repositories", "runners", "seed", "work"]
