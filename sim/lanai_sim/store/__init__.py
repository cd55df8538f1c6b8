"""The results of a project's runs, in one SQLite file."""

from .store import DEFAULT, Store, store_of
from .stored_run import StoredRun

__all__ = ["DEFAULT", "Store", "StoredRun", "store_of"]
