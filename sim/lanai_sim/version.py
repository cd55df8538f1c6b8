"""The one place that knows the version: the installed distribution's metadata, which pyproject.toml
wrote. It is read when it is asked for: that takes as long as a tenth of a warm run."""

from functools import cache


@cache
def version() -> str:
    from importlib.metadata import version as installed

    return installed("openlanai")
