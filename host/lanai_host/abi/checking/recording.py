"""The recorder of this rank, with the handlers of all calls."""

from . import collectives, messages, one_sided
from .recorder import Recorder


def recorder(directory: str, rank: int) -> Recorder:
    """Return a recorder whose records go to `directory`."""
    handlers = {**messages.HANDLERS, **collectives.HANDLERS, **one_sided.HANDLERS}
    return Recorder(directory, rank, handlers, one_sided.made)
