"""The paths of what is installed: the headers of the `mpich` package, and the interpreter's shared library."""

import sysconfig
from pathlib import Path

from ..errors import UserError


def include_directory() -> Path:
    """Return the folder in which the `mpich` package keeps mpi.h."""
    import importlib.metadata  # ranks do without

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


def shared_libpython() -> str:
    """Return the path of this interpreter's shared libpython; empty if it has none."""
    directory, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    if not (directory and name and ".so" in name):
        return ""
    path = Path(directory) / name
    return str(path) if path.exists() else ""
