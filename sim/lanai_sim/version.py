"""The one place that knows the version: the installed distribution's metadata, which pyproject.toml
wrote."""

from importlib.metadata import version

VERSION = version("openlanai")
