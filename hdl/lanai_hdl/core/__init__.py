"""The Lanai processor."""

from .core import Core
from .retire import Retired

__all__ = ["Core", "Retired"]
