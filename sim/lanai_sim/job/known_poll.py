"""Polls that the simulator does for a rank: they take time and do nothing else (`bus.base.KnownLook`)."""

from collections.abc import Sequence

from lanai_host.simulator.requests import Look

from ..kernel.node import Word, any_changed
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

    def __init__(self, look: Look, words: Sequence[Word]) -> None:
        count = len(words) - look.decisive
        if count <= 0:
            raise Refused(f"{look.decisive} of {len(words)} words cannot be decisive: a wait needs another one")
        if not -1 <= look.place < count or (look.place >= 0 and (count < 2 or look.decisive)):
            raise Refused(f"word {look.place} of {count} cannot be noted")
        self._look = look
        self._decisive = words[count:]
        self.words = list(words[:count])
        self.noted = self.polls = 0

    def first(self) -> int | None:
        """The time of a poll before the wait; None if the rank must poll by itself."""
        return None if any_changed(self._decisive or self.words) else self._poll()

    def again(self) -> int | None:
        """The time of a poll after the wait; None if the rank must poll by itself, also when its time was up."""
        look, words = self._look, self.words
        if self._decisive:
            return self._poll() if any_changed(words) and not any_changed(self._decisive) else None
        if self.noted or not self._is_noted():
            return None
        del words[look.place]
        self.noted = 1
        return look.noting + self._poll()

    def _poll(self) -> int:
        self.polls += 1
        if self._decisive:
            self.words = [word.looked_at for word in self.words]
        return self._look.picoseconds

    def _is_noted(self) -> bool:
        """Return whether the word that may be noted holds what it should, and no other has changed."""
        look, words = self._look, self.words
        if look.place < 0 or words[look.place].now != look.value:
            return False
        return not any_changed(words[: look.place] + words[look.place + 1 :])
