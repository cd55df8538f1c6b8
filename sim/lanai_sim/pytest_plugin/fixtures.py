"""Fixtures of tests that run on ranks, under the names that suites use."""

import os
from pathlib import Path
from typing import Any

import pytest

from .counts import FIXTURE
from .task import current


@pytest.fixture(name=FIXTURE)
def lanai_ranks(request: pytest.FixtureRequest) -> int:
    """The number of ranks that the test runs on; 1 outside of ranks."""
    task = current()
    return int(getattr(request, "param", 1)) if task is None else task.ranks


@pytest.fixture
def mpi_ranks(lanai_ranks: int) -> int:
    """The number of ranks that the test runs on."""
    return lanai_ranks


@pytest.fixture
def comm() -> Any:
    """The communicator of all ranks of the test."""
    from mpi4py import MPI

    return MPI.COMM_WORLD


@pytest.fixture
def mpi_tmp_path(tmp_path: Path) -> Path:
    """A folder that all ranks of the test share."""
    task = current()
    if task is None:
        return tmp_path
    folder = Path(task.folder, "shared")
    os.makedirs(folder, exist_ok=True)
    return folder
