"""The shared library of this interpreter."""

import sysconfig
from pathlib import Path


def shared_libpython() -> str:
    """Return the path of this interpreter's shared libpython; empty if it has none."""
    directory, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    if not (directory and name and ".so" in name):
        return ""
    path = Path(directory) / name
    return str(path) if path.exists() else ""
