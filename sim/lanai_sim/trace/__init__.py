"""The event stream of a run: written while it goes on, read as numpy arrays."""

from .reader import Trace

__all__ = ["Trace"]
