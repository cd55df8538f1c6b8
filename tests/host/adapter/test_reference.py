"""Random commands, good and bad, over wires that lose, damage, double, delay and reorder packets:
what the reference model says happens.

One NIC gives the commands, so the order in which they take effect is the model's. Every status,
every result of an atomic and every byte of both hosts must be the model's.
"""

import random
from dataclasses import asdict, dataclass, replace

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.fifo import CONTROL_BYTES, RingWord, TailWord, last_start
from lanai_hdl.remote.packets import ATOMIC_BYTES, WIDE_BYTES, Atomic, Op, Status, word
from lanai_hdl.remote.reference import MASK, ReferenceCommand, ReferenceExposure, ReferenceNic, run
from lanai_hdl.remote.tables import (
    COMMANDS,
    COMPARAND_HIGH,
    DIRECTORY_PAGES,
    FLAG_AT,
    FLAG_BYTES,
    OPERAND_HIGH,
    RESULT_AT,
    WIDE_RESULT_AT,
    CommandWord,
    DirectoryWord,
    FlagWord,
    PlaceWord,
    Rights,
    command_at,
    exposure_at,
    page_at,
)
from lanai_sim.studies.remote_hosts import idle, play

REMOTE = Remote()
NIC = lanai41().but(blocks=(REMOTE,))
PAGE = 4096
SIZE = 4 * PAGE  # of each host's memory
DIRECTORY = DIRECTORY_PAGES * PAGE  # bytes whose pages a directory names
DIRECTORY_AT = 5 * PAGE  # in each host's memory
TABLE = 20  # first entry of the page table that the exposures here use
FAULTS = [
    "drop * rate=0.02 seed=1",
    "corrupt * rate=0.02 seed=2 bit=40",
    "duplicate * rate=0.02 seed=3",
    "delay * rate=0.02 seed=4 by=3us",
    "reorder * rate=0.02 seed=5 by=2us",
]
FIFOS = tuple(range(2 * PAGE + 256, 2 * PAGE + 256 + 64 * 16, 64))  # where FIFOs' control words stand at first
FIRST_BYTE = (24, 31)  # bits of a packet
# Of commands whose peer answers. Only collectives end as MIXED.
ENDS = set(Status) - {Status.LOST, Status.SESSION, Status.VOID, Status.MIXED}
EXPOSED = {
    1: ReferenceExposure(0, SIZE, 0x1111, TABLE, True, read=True, write=True, atomic=True, little=True),
    2: ReferenceExposure(100, 3000, 0x2222, TABLE, True, read=True, write=True, atomic=True),
    3: ReferenceExposure(0, SIZE, 0x3333, TABLE, True, read=True),
    4: ReferenceExposure(0, SIZE, 0x4444, TABLE, True, write=True),
    5: ReferenceExposure(0, 6 * PAGE, 0x5555, TABLE, True, read=True, write=True, atomic=True),
    6: ReferenceExposure(0, SIZE, 0x6666, TABLE, False, read=True, write=True, atomic=True),
    8: ReferenceExposure(0, 6 * PAGE, 0x8888, TABLE, True, append=True, signal=True),
    9: ReferenceExposure(
        0, 3 * DIRECTORY, 0x9999, TABLE + 6, True, read=True, write=True, atomic=True, little=True, walked=True
    ),
    10: ReferenceExposure(0, 3 * DIRECTORY, 0xAAAA, TABLE + 6, True, append=True, signal=True, walked=True),
}
WALKED = {1: 9, 5: 9, 8: 10}  # of the same pages
UNMAPPED, FOREIGN = 4, 5  # pages of exposure 5: one that the host refuses, one of another process's bus window


@dataclass
class Raw:
    """A host's tables and memory as the gateware has them and as the model has them."""

    host: object
    model: ReferenceNic

    @classmethod
    def set_up(cls, host, content):
        host.memory[:SIZE] = content
        bus = host.bus
        pages = [address // PAGE for address in host.exposure.pages[: SIZE // PAGE]]
        directory = host.exposure.pages[DIRECTORY_AT // PAGE] // PAGE
        entries = [*pages, 0x1FFFF, 0x20000, directory, 0x20000, 0x1FFFE]
        model = ReferenceNic(REMOTE, windows={n: n + 1 for n in range(REMOTE.processes)})
        for index, page in enumerate(entries):
            bus.write(page_at(0, TABLE + index), page)
            model.pages[0, TABLE + index] = page
        for index, page in enumerate(pages):
            model.memory[page] = bytearray(content[PAGE * index :][:PAGE])
        words = [word(DirectoryWord, page=page, valid=1) for page in [*pages, 0x1FFFF, 0x20000]]
        words.append(word(DirectoryWord, page=pages[0], valid=0))
        data = b"".join(one.to_bytes(4, "big") for one in words)
        host.memory[DIRECTORY_AT : DIRECTORY_AT + PAGE] = data.ljust(PAGE, b"\0")
        model.memory[directory] = bytearray(data.ljust(PAGE, b"\0"))
        for number, exposure in EXPOSED.items():
            fields = asdict(exposure)
            first, end, key, page, walked = (fields.pop(name) for name in ("first", "end", "key", "page", "walked"))
            place = word(PlaceWord, key=key, page=page, walked=walked)
            words = [first, end, place, word(Rights, **fields)]
            data = b"".join(one.to_bytes(4, "big") for one in words)
            bus.write_block(exposure_at(0, number), data)
            model.exposures[0, number] = exposure
        return cls(host, model)

    def compare(self):
        pages = [address // PAGE for address in self.host.exposure.pages[: SIZE // PAGE]]
        content = b"".join(bytes(self.model.memory[page]) for page in pages)
        assert bytes(self.host.memory[:SIZE]) == content


def control_words(chance):
    """Return control words of a FIFO: empty, full, refusing, or with anything between; its ring in the host's memory or
    not.
    """
    pages = chance.choice([1, 2, 4, 8])
    tail = chance.randrange(1 << 18) * 4
    if tail % PAGE > last_start(REMOTE.payload):
        tail &= ~(PAGE - 1)
    head = tail - chance.choice([0, chance.randrange(pages * PAGE // 4), pages * PAGE // 4 - 2]) * 4
    ring = word(RingWord, page=chance.choice([0, 0, pages]), mask=pages - 1)
    words = (word(TailWord, count=tail, refusing=chance.random() < 0.3), head & 0xFFFFFFFF, ring)
    return b"".join(one.to_bytes(4, "big") for one in words)


def set_fifos(content):
    """The content with control words of FIFOs at `FIFOS`."""
    chance = random.Random(content[:8])
    for at in FIFOS:
        content = content[:at] + control_words(chance) + content[at + CONTROL_BYTES :]
    return content


def any_command(chance):
    exposure = chance.choice([1, 1, 1, 2, 3, 4, 5, 5, 6, 7, 8, 8, 8, 130])
    key = EXPOSED[exposure].key if exposure in EXPOSED and chance.random() < 0.95 else 0x1111
    op = chance.choice([Op.WRITE, Op.READ, Op.ATOMIC, Op.ATOMIC])
    if exposure == 8 or chance.random() < 0.05:
        op = chance.choice([Op.APPEND, Op.APPEND, Op.RETRY])
    offset = chance.randrange(6 * PAGE) if exposure in (5, 8) else chance.randrange(SIZE // 2)
    if op in (Op.APPEND, Op.RETRY) and chance.random() < 0.9:
        offset = chance.choice(FIFOS)
    size = chance.choice([ATOMIC_BYTES, WIDE_BYTES]) if op is Op.ATOMIC else ATOMIC_BYTES
    if op is Op.ATOMIC and chance.random() < 0.9:
        offset &= -size
    length = chance.choice([0, 1, 3, 4, 5, 64, 700, 1024, 3000])
    return ReferenceCommand(
        op, 1 if chance.random() < 0.98 else 77, exposure, key, offset, length, chance.choice([1, 1, 1, 1, 5, 6]),
        chance.randrange(SIZE // 2), chance.choice(list(Atomic)), chance.getrandbits(8 * size), chance.choice([0,
        chance.getrandbits(8 * size)]), size == WIDE_BYTES, False, chance.random() < 0.5, chance.random() < 0.5,
    )  # fmt: skip


def some_walked(command, chance):
    """The same, at either end by a walked exposure instead of a direct one; sometimes with a directory
    that is in another process's bus window, or that the host refuses."""
    if command.exposure in WALKED and chance.random() < 0.8:
        number = WALKED[command.exposure]
        key = EXPOSED[number].key if command.key == EXPOSED[command.exposure].key else command.key
        page = chance.choice([0] * 20 + [2, DIRECTORY_PAGES, 2 * DIRECTORY_PAGES])
        command = replace(command, exposure=number, key=key, offset=command.offset + page * PAGE)
    return replace(command, local=9) if command.local == 1 and chance.random() < 0.8 else command


def overlap(one, other):
    """Return whether two commands write the same bytes: all exposures begin with the same page."""
    return one.offset < other.offset + other.length and other.offset < one.offset + one.length


def some_relaxed(commands, chance, share):
    """So many of the writes relaxed, if the bytes are the same in whatever order they are carried
    out. Those may be sent together that no other command stands between."""
    given = []
    for command in commands:
        relaxed = replace(command, relaxed=command.op is Op.WRITE and chance.random() < share)
        clash = any(relaxed.may_overtake(one) and overlap(relaxed, one) for one in given)
        given.append(command if clash else relaxed)
    return given


def give(host, buffer, tag, command):
    head = word(
        CommandWord,
        exposure=command.exposure,
        local=command.local,
        op=command.op,
        atomic=command.field,
        wide=command.wide,
        peer=command.peer,
    )
    words = [
        command.operand & MASK,
        command.comparand & MASK,
        head,
        command.key,
        command.offset,
        command.length,
        command.local_offset,
        tag,
    ]
    if command.wide:
        words[OPERAND_HIGH], words[COMPARAND_HIGH] = command.operand >> 32, command.comparand >> 32
    host.bus.write_block(command_at(0, buffer), b"".join(one.to_bytes(4, "big") for one in words))


def take(host, buffer, tag, command):
    """(status, result) once the flag has come."""
    flags, at = host.remote._commands._flags, FLAG_BYTES * buffer
    seen = int.from_bytes(flags.view[at + FLAG_AT :][:4], "big")
    while seen >> 8 != tag:
        seen = host.bus.wait_change(flags, at + FLAG_AT, seen)
    result_at = WIDE_RESULT_AT if command.wide else RESULT_AT
    return Status(FlagWord.from_bits(seen).status), int.from_bytes(flags.view[at + result_at : at + FLAG_AT], "big")


def compare(count, seed, faults, relaxed=0.0, walked=False):
    """Run random commands on the gateware and on the reference, and compare all answers and memories.

    Returns the statuses that there were, and how often no answer came. `relaxed`: share of the writes. `walked`: most
    exposures are.
    """
    chance, walks = random.Random(seed), random.Random(f"walks {seed}")
    contents = [set_fifos(chance.randbytes(SIZE)) for _ in range(2)]
    sides = {}

    def program(host):
        sides[0] = Raw.set_up(host, contents[0])
        while len(sides) < 2:
            host.bus.elapse(1_000_000)
        nics = {n: side.model for n, side in sides.items()}
        seen = set()
        for first in range(0, count, COMMANDS):
            commands = some_relaxed([any_command(chance) for _ in range(COMMANDS)], chance, relaxed)
            if walked:
                commands = [some_walked(command, walks) for command in commands]
            for buffer, command in enumerate(commands):
                give(host, buffer, first + buffer + 1, command)
            for buffer, command in enumerate(commands):
                status, result = take(host, buffer, first + buffer + 1, command)
                expected, value = run(nics, 0, 0, command)
                assert status is expected, command
                seen.add(status)
                if command.op is Op.ATOMIC and status is Status.OK:
                    assert result == value, command
        return seen, host.counter("REMOTE_TIMEOUTS")

    def target(host):
        sides[1] = Raw.set_up(host, contents[1])
        return None

    def program_and_check(host):
        answer = program(host)
        for side in sides.values():
            side.compare()
        return answer

    def wait(host):
        target(host)
        idle(host)

    return play([program_and_check, wait], NIC, faults=faults, timeout=2000, retries=50)[0]


def test_sound_wires():
    seen, timeouts = compare(400, 1, [])
    assert timeouts == 0
    assert seen == ENDS


def test_faulty_wires():
    seen, timeouts = compare(800, 2, FAULTS)
    assert timeouts > 10
    assert Status.LOST not in seen


def test_a_packet_that_no_longer_names_the_adapter_does_not_stop_the_link():
    seen, timeouts = compare(200, 4, [f"corrupt * rate=0.03 seed={bit} bit={bit}" for bit in FIRST_BYTE])
    assert timeouts > 2
    assert Status.LOST not in seen


def test_relaxed_writes_on_sound_wires():
    seen, timeouts = compare(400, 5, [], relaxed=0.8)
    assert timeouts == 0
    assert seen == ENDS


def test_relaxed_writes_on_faulty_wires():
    seen, timeouts = compare(800, 6, FAULTS, relaxed=0.8)
    assert timeouts > 10
    assert Status.LOST not in seen


def test_walked_exposures_on_sound_wires():
    seen, timeouts = compare(400, 7, [], walked=True)
    assert timeouts == 0
    assert seen == ENDS


def test_walked_exposures_on_faulty_wires():
    seen, timeouts = compare(800, 8, FAULTS, relaxed=0.3, walked=True)
    assert timeouts > 10
    assert Status.LOST not in seen


@pytest.mark.slow
def test_many_commands_of_which_packets_are_lost():
    """In the 10,737th command an atomic would tell that a repeated READ overwrote a later one, if
    answers were taken in any order."""
    seen, _ = compare(12_000, 4, FAULTS[:1])
    assert seen == ENDS


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("relaxed", "walked"), [(0, False), (0.8, False), (0.2, True)])
def test_many_commands_on_faulty_wires(relaxed, walked):
    seen, timeouts = compare(100_000, 3, FAULTS, relaxed, walked)
    assert timeouts > 1_000
    assert seen == ENDS
