"""What keeps a workflow from doing what it says, where GitHub and the linters accept it."""

from workflows.checks.book import RULES, check
from workflows.checks.finding import Finding
from workflows.checks.fleet import pools_of
from workflows.checks.known import HOSTED, Known, Pool, TestCase
from workflows.checks.rule import Rule

__all__ = ["HOSTED", "RULES", "Finding", "Known", "Pool", "Rule", "TestCase", "check", "pools_of"]
