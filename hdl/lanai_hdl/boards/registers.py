"""Registers of a board beside those of its NIC: what its phy has counted and seen. The host reads them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import PioPort
from ..machine import BOARD_HOST, PAGE_SIZE
from ..phy.phy import Phy
from ..phy.training import faults

BOARD_ID = 0x50485931  # "PHY1": the board has a phy
PHY_WORDS = ("status", "downs", "retrains", "bad_symbols", "cut_flits", "misrouted", "window")  # members of `Phy`
COUNTERS = PHY_WORDS[1:-1]
UP, LOCKED, HEARD, CLOCK = 1, 2, 4, 8  # of `status`


@dataclass(frozen=True)
class PhySeen:
    """The phy of a board, as its registers tell: the members of PHY_WORDS, by name."""

    words: Mapping[str, int]

    @classmethod
    def of(cls, read: Callable[[Sequence[int]], Sequence[int]]) -> Self | None:
        """Read it by a function that reads words of the NIC's window. None: the board has no phy."""
        (board,) = read([BOARD_HOST])
        if board != BOARD_ID:
            return None
        return cls(dict(zip(PHY_WORDS, read([address_of(name) for name in PHY_WORDS]), strict=True)))

    @property
    def up(self) -> bool:
        return bool(self.words["status"] & UP)

    def troubles(self) -> list[str]:
        """Return the reasons for which there is no link, as phrases that name the wires."""
        status = self.words["status"]
        if self.up:
            return []
        if not status & CLOCK:
            return ["no clock comes in: the other board is off, or clock is not where it should be"]
        if not status & LOCKED:
            return faults(self.words["window"]) or ["it trains"]
        return ["all wires that come in are right; the other board does not find those that go out"]


def address_of(name: str) -> int:
    """Return where the host reads a member of the phy."""
    return BOARD_HOST + 4 * (1 + PHY_WORDS.index(name))


class BoardRegisters(wiring.Component):
    """Answers reads of the page at BOARD_HOST, and passes all else on. A write there does nothing.

    Members: `i`, ``In(PioPort())``, from the host; `o`, ``Out(PioPort())``, to the NIC.
    """

    i: In(PioPort())
    o: Out(PioPort())

    def __init__(self, phy: Phy):
        self._phy = phy
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        words = [BOARD_ID, *(getattr(self._phy, name) for name in PHY_WORDS)]
        own, answers, word = Signal(), Signal(), Signal(32)
        bits = (PAGE_SIZE - 1).bit_length()
        m.d.comb += own.eq(self.i.addr[bits:] == BOARD_HOST >> bits)
        for name in ("write", "addr", "wdata", "be"):
            m.d.comb += getattr(self.o, name).eq(getattr(self.i, name))
        m.d.comb += [
            self.o.valid.eq(self.i.valid & ~own),
            self.i.ready.eq(Mux(own, 1, self.o.ready)),
            self.i.rvalid.eq(self.o.rvalid | answers),
            self.i.rdata.eq(Mux(answers, word, self.o.rdata)),
        ]
        number = self.i.addr[2:bits]
        m.d.sync += [answers.eq(self.i.valid & own & ~self.i.write), word.eq(0)]
        with m.If(number < len(words)):
            m.d.sync += word.eq(Array(words)[number[: (len(words) - 1).bit_length()]])
        return m
