"""The place where the `mpich` package keeps its headers."""

import importlib.metadata
from pathlib import Path

from ..errors import UserError


def include_directory() -> Path:
    """Return the folder in which the `mpich` package keeps mpi.h."""
    try:
        distribution = importlib.metadata.distribution("mpich")
    except importlib.metadata.PackageNotFoundError:
        raise UserError("the package `mpich` is not installed; its mpi.h is needed: pip install mpich") from None
    for file in distribution.files or ():
        if file.name == "mpi.h":
            path = Path(str(distribution.locate_file(file))).resolve()
            if path.is_file():
                return path.parent
    raise UserError(f"the package mpich {distribution.version} has no mpi.h; reinstall it: pip install --force mpich")
