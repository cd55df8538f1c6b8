"""Finds what is wrong with an MPI program: one run, every rule that can be seen.

`running.check` runs a program and returns its `judge.Verdict`, whose findings are data (`finding`).
"""

from .finding import Finding, Kind
from .judge import Verdict
from .running import check

__all__ = ["Finding", "Kind", "Verdict", "check"]
