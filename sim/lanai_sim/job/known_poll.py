"""Polls that the simulator does for a rank: they take time and do nothing else (`bus.base.KnownLook`)."""

from lanai_host.simulator.requests import Look

from ..engines.words import Words
from .rank_service import Refused


class KnownPoll:
    """The polls of one wait.

    Args:
        words: the words that the rank waits for, and behind them those that are decisive.

    Members:
        words: those that the rank waits for, as it has seen them.
        noted: 1 once the word at `Look.place` was noted.
        polls: polls that did nothing.
    """

    def __init__(self, look: Look, words: Words) -> None:
        count = len(words) - look.decisive
        if count <= 0:
            raise Refused(f"{look.decisive} of {len(words)} words cannot be decisive: a wait needs another one")
        if not -1 <= look.place < count or (look.place >= 0 and (count < 2 or look.decisive)):
            raise Refused(f"word {look.place} of {count} cannot be noted")
        self._look = look
        self._decisive = words.part(count, len(words)) if look.decisive else None
        self.words = words.part(0, count) if look.decisive else words
        self.noted = self.polls = 0

    def first(self) -> int | None:
        """The time of a poll before the wait; None if the rank must poll by itself."""
        return None if (self._decisive or self.words).changed else self._poll()

    def again(self) -> int | None:
        """The time of a poll after the wait; None if the rank must poll by itself, also when its time was up."""
        look, words = self._look, self.words
        if self._decisive is not None:
            return self._poll() if words.changed and not self._decisive.changed else None
        if self.noted or not self._is_noted():
            return None
        words.remove(look.place)
        self.noted = 1
        return look.noting + self._poll()

    def _poll(self) -> int:
        self.polls += 1
        if self._decisive is not None:
            self.words.look()
        return self._look.picoseconds

    def _is_noted(self) -> bool:
        """Return whether the word that may be noted holds what it should, and no other has changed."""
        look, words = self._look, self.words
        if look.place < 0 or words.held(look.place) != look.value:
            return False
        return not words.changed_apart_from(look.place)
