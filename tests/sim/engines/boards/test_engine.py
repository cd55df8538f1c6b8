"""The engine of boards, with boards that the test plays: accesses in order, host memory, waits, silence."""

import ctypes

import pytest

from lanai_hdl.boards.registers import BOARD_ID, CLOCK, LOCKED, PHY_WORDS, UP, address_of
from lanai_hdl.config import NicConfig
from lanai_hdl.control.identity import identity
from lanai_hdl.machine import BOARD_HOST, PAGE_SIZE, SRAM_HOST, host_offset
from lanai_hdl.uart.bridge import UNANSWERED
from lanai_hdl.uart.frame import MOST_WORDS, Frame, FrameKind, whole_frames
from lanai_host.errors import UserError
from lanai_sim.engines.base import NEVER, Access, EventKind, Layout
from lanai_sim.engines.boards import engine as boards_engine
from lanai_sim.engines.boards.engine import BoardEngine
from lanai_sim.engines.boards.lines import Boards, Came

LAYOUT = Layout(NicConfig(), 2, ())
PAGE = 0x10000


class Played(Boards):
    """Boards that read as the address that is read, and send what the test has put into `frames`."""

    def __init__(self):
        self.slots, self.frames, self.sent, self.answers = 0, [], [], True
        self.taken = self.is_still = True
        self.words = {}  # that do not read as their address: (board, address)

    slot = property(lambda self: self.slots)
    still = property(lambda self: self.is_still and not self.frames)

    def run(self, limit):
        self.slots = min(limit, self.slots + 100)
        found, self.frames = self.frames, []
        return found

    def send(self, board, data):
        line = bytearray(data)
        for frame in whole_frames(line):
            self.sent.append((board, frame))
            if frame.kind is FrameKind.PIO_READ and self.answers:
                addresses = range(frame.addr, frame.addr + 4 * frame.count, 4)
                words = [self.words.get((board, address), address) for address in addresses]
                self.say(board, FrameKind.PIO_DATA, data=b"".join(word.to_bytes(4, "big") for word in words))
        assert not line

    def say(self, board, kind, addr=0, data=b"", be=0xF, asked=0):
        self.frames.append(Came(board, Frame(kind, addr, data, be, asked)))

    def untaken(self, board, tell):
        return not self.taken

    def pass_to(self, slot):
        self.slots = max(self.slots, slot)

    def close(self):
        self.slots = None


@pytest.fixture
def boards():
    return Played()


@pytest.fixture
def engine(boards):
    return BoardEngine(LAYOUT, boards)


def done(engine, limit=NEVER):
    """The events until all is still or `limit` is reached."""
    found = []
    while True:
        still, events = engine.run(limit)
        found += events
        if still or (not events and not engine.cut_short):
            return found


def test_a_board_with_another_bitstream_is_named(boards, engine):
    said = {host_offset(name): value for name, value in identity(LAYOUT.nic).items()}
    boards.words = {(board, address): value for board in range(2) for address, value in said.items()}
    boards.words[0, host_offset("SLOT_KHZ")] = 50_000
    engine.check()
    boards.words[1, host_offset("SRAM_SIZE")] = 0x10000
    with pytest.raises(UserError, match="board 1 has another bitstream: SRAM_SIZE is 0x10000, and 0x100000 in this"):
        engine.check()


def test_accesses_go_in_order_and_those_with_a_tag_are_reported(boards, engine):
    reads = [Access(0, False, 8 * n, tag=n + 1) for n in range(UNANSWERED + 2)]
    engine.pio(1, [Access(0, True, 0x100, 7, 0b0110), *reads, Access(0, True, 0x104, 8, tag=99)])
    events = done(engine)
    assert [(one.unit, one.tag, one.value) for one in events] == [
        *((1, n + 1, 8 * n) for n in range(UNANSWERED + 2)),
        (1, 99, 0),
    ]
    assert all(one.kind == EventKind.PIO_DONE for one in events)
    assert [frame.addr for _, frame in boards.sent] == [0x100, *(8 * n for n in range(UNANSWERED + 2)), 0x104]
    assert boards.sent[0] == (1, Frame.single(FrameKind.PIO_WRITE, 0x100, 7, 0b0110))


def test_accesses_of_words_in_a_row_share_a_frame(boards, engine):
    engine.pio(0, [Access(0, True, 0x100 + 4 * n, n) for n in range(MOST_WORDS + 1)])
    engine.pio(0, [Access(0, True, 0x204, 1, 0b1000), Access(0, True, 0x208, 2), Access(0, True, 0x210, 3)])
    engine.pio(0, [Access(0, False, 4 * n, tag=n + 1) for n in range(3)])
    assert [(one.tag, one.value) for one in done(engine)] == [(n + 1, 4 * n) for n in range(3)]
    assert [(frame.addr, frame.count) for _, frame in boards.sent] == [
        (0x100, MOST_WORDS),
        (0x200, 1),
        (0x204, 1),
        (0x208, 1),
        (0x210, 1),
        (0, 3),
    ]
    assert boards.sent[0][1].data[-4:] == (MOST_WORDS - 1).to_bytes(4, "big")


def test_an_access_waits_for_its_slot_and_still_boards_pass_the_time(boards, engine):
    engine.pio(0, [Access(10**9, False, 8, tag=5)])
    assert engine.run(10**6) == (False, ())
    assert engine.slot(0) == 10**6
    assert [(one.tag, one.slot >= 10**9) for one in done(engine)] == [(5, True)]


def test_a_write_is_done_when_the_board_has_taken_it(boards, engine):
    boards.taken = False
    engine.pio(0, [Access(0, True, 8, 1, tag=5)])
    assert engine.run(300) == (False, ())
    boards.taken = True
    assert [one.tag for one in done(engine)] == [5]


def test_host_memory_is_served_and_watched(boards, engine):
    memory = ctypes.create_string_buffer(b"WORD", PAGE_SIZE)
    engine.map_local(0, PAGE, ctypes.addressof(memory), True)
    engine.map_local(1, PAGE, ctypes.addressof(memory), False)
    engine.watch(0, PAGE * PAGE_SIZE + 4, 0, 77)
    boards.say(0, FrameKind.MEMORY_READ, PAGE * PAGE_SIZE, asked=2)
    boards.say(0, FrameKind.MEMORY_WRITE, PAGE * PAGE_SIZE + 4, b"ABCD", 0b0110)
    boards.say(0, FrameKind.MEMORY_WRITE, PAGE * PAGE_SIZE + 8, b"two word")
    boards.say(1, FrameKind.MEMORY_WRITE, PAGE * PAGE_SIZE, b"ABCDEFGH")
    boards.say(1, FrameKind.MEMORY_READ, 0, asked=1)
    assert [(one.kind, one.unit, one.tag) for one in done(engine)] == [(EventKind.WATCH, 0, 77)]
    assert boards.sent == [
        (0, Frame(FrameKind.MEMORY_ANSWER, data=b"WORD\0\0\0\0")),
        (0, Frame(FrameKind.MEMORY_ANSWER)),
        (0, Frame(FrameKind.MEMORY_ANSWER)),
        (1, Frame(FrameKind.MEMORY_REFUSED)),
        (1, Frame(FrameKind.MEMORY_REFUSED)),
    ]
    assert memory.raw[:16] == b"WORD\0BC\0two word"
    assert (engine.refused(0), engine.refused(1)) == (0, 3)
    engine.unwatch(0, 77)
    engine.unmap(0, PAGE)
    boards.say(0, FrameKind.MEMORY_WRITE, PAGE * PAGE_SIZE + 4, bytes(4))
    assert done(engine) == []
    assert engine.refused(0) == 1


def test_the_memory_of_a_nic_is_asked_for_and_other_events_wait(boards, engine):
    boards.say(1, FrameKind.INTERRUPT)
    assert engine.sram(0, [8, 12]) == [SRAM_HOST + 8, SRAM_HOST + 12]
    assert [(one.kind, one.unit) for one in done(engine)] == [(EventKind.IRQ, 1)]


def test_a_board_is_silent_for_as_long_as_nothing_is_asked(boards, engine, monkeypatch):
    monkeypatch.setattr(boards_engine, "ANSWER_SECONDS", 0.0)
    boards.answers = boards.is_still = False
    assert engine.run(1000) == (False, ())
    engine.pio(1, [Access(0, False, 8, tag=5)])
    with pytest.raises(UserError, match="board 1 has not answered a read for 0 s"):
        engine.run(2000)


def test_a_call_takes_no_longer_than_it_may(boards, engine, monkeypatch):
    monkeypatch.setattr(boards_engine, "A_WHILE", -1.0)
    boards.is_still = False
    assert engine.run(10**9) == (False, ())
    assert engine.cut_short
    assert engine.slot(0) == engine.slot(1) == engine.evaluated(0) == 0
    engine.close()
    assert boards.slots is None


def phy(board, status, window=0):
    values = dict.fromkeys(PHY_WORDS, 0) | {"status": status, "window": window}
    return {(board, BOARD_HOST): BOARD_ID} | {(board, address_of(name)): value for name, value in values.items()}


TRAINING = 0b11_00111100_11_01100110_11_01011010  # TRAIN, MARK, THIRD


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "board 1 has no phy .`lanai build --phy`."),
        (phy(1, CLOCK, TRAINING), "board 1: it trains"),
        (phy(1, CLOCK, TRAINING ^ 0x10_04_01 * 0x22), "board 1: data 1 is inverted"),
        (phy(1, 0), "board 1: no clock comes in: the other board is off, or clock is not where it should be"),
        (phy(1, CLOCK | LOCKED), "board 1: all wires that come in are right; the other board does not find those"),
    ],
)
def test_boards_without_a_link_are_refused(boards, engine, words, said):
    boards.words = phy(0, UP | LOCKED | CLOCK) | words
    with pytest.raises(UserError, match=f"the boards have no link: {said}"):
        engine.await_link()
    boards.words |= phy(1, UP)
    engine.await_link()
