"""Polls that the simulator does for a rank: they take time and do nothing else (`bus.base.KnownLook`)."""

from lanai_host.simulator.requests import Look

from ..engines.words import Polls, Words
from .rank_service import Refused

NO_POLLS = Look(0, -1, 0, 0, 0, 0)  # a wait alone


def known_polls(look: Look, words: Words) -> Polls:
    """The polls of one wait. `words`: those that the rank waits for, and behind them those that are decisive."""
    count = len(words) - look.decisive
    if count <= 0 and look is not NO_POLLS:
        raise Refused(f"{look.decisive} of {len(words)} words cannot be decisive: a wait needs another one")
    if not -1 <= look.place < count or (look.place >= 0 and (count < 2 or look.decisive)):
        raise Refused(f"word {look.place} of {count} cannot be noted")
    if look.picoseconds < 0 or look.noting < 0:
        raise Refused(f"a poll cannot take {min(look.picoseconds, look.noting)} ps; name a time of 0 or more")
    return words.polled(look.decisive, look.picoseconds, look.place, look.value, look.noting)
