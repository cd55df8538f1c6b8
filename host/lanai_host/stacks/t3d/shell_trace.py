"""The vocabulary by which traces read the puts of `t3d` that the shell carries out: writes of the adapter."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanai_firmware.vocabulary import MESSAGE_SLOTS, Part, Places, SeenPut

from ...adapter import trace
from .trace import see_in_heap
from .windows import name_of

HEAP = 0  # a rank's exposure that is its heap


def see(words: Sequence[int], exposure: int, offset: int, length: int, source: int, plan: Mapping[str, Any]) -> SeenPut:
    """A write to the heap, or to a window by its name."""
    if exposure == HEAP:
        return see_in_heap(source, offset, length, words, plan)
    return SeenPut(source, int(Part.BYTES), Part.BYTES, name_of(exposure, offset), length, -1)


VOCABULARY = replace(trace.VOCABULARY, messages=Places(see), rooms=(MESSAGE_SLOTS,))
