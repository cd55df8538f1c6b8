"""A NIC that is reset, traps, stops or hangs while messages are under way: whatever waits ends with an
error that says so, here and at the peers."""

import re

import pytest

from lanai_hdl.machine import SRAM_HOST, Control, host_offset
from lanai_host.operation import ANY_SOURCE, ErrorKind
from lanai_sim.kernel.kernel import Deadlock

from .. import sabotage
from .np_calls import STANDARD, SYNCHRONOUS, pattern
from .np_cluster import MILLISECOND, Ranks

NEVER_TAG = 99  # of messages that no rank sends
UNDEFINED = 0xFFFFFFFF  # no instruction
PROTOCOLS = {
    "eager": (4, STANDARD, 12),
    "eager from host memory": (1500, STANDARD, 12),
    "rendezvous": (30_000, STANDARD, 4),
    "synchronous": (200, SYNCHRONOUS, 8),
}


def reset(bus, ranks):
    bus.write(host_offset("CONTROL"), int(Control.RESET))


def halt(bus, ranks):
    bus.write(host_offset("CONTROL"), 0)


def trap(bus, ranks):
    main = ranks.image.symbols["lanai_firmware.programs.mpi_np.main.main"]
    bus.write_block(SRAM_HOST + main.address, UNDEFINED.to_bytes(4, "big") * (main.size // 4))
    bus.write(host_offset("DOORBELL"), 1)


def hang(bus, ranks):
    sabotage.hang(bus, ranks.image)
    bus.write(host_offset("DOORBELL"), 1)


SEEN = {
    reset: "was reset: it has forgotten what it was booted for",
    halt: "was stopped: its processor is held in reset",
    trap: r"stopped: its processor trapped at 0x[0-9a-f]+ in .*\.py:\d+ \([\w.]+\): undefined instruction",
    hang: "is silent: for 2000 us its firmware neither looked at the doorbell nor moved anything",
}


def survivor(size, mode, count):
    """Rank 1, and rank 0 as well: messages both ways, then one that never comes; errors by kind,
    and whether all else was right."""

    def program(me):
        other = 1 - me.rank
        received = [me.receive(other, size, tag) for tag in range(count)]
        received += [me.receive(ANY_SOURCE, size, NEVER_TAG), me.receive(other, size, NEVER_TAG)]
        sent = [me.send(other, pattern(size, tag), tag, mode) for tag in range(count)]
        me.finish(*sent, *received)
        for tag, (operation, buffer) in enumerate(received[:count]):
            assert operation.error is not None or buffer.data == pattern(size, tag)
        late = [me.send(other, b"x", mode=mode), me.receive(other, 1), me.receive(ANY_SOURCE, 1)]
        me.finish(*late)
        errors = [operation.error for operation, _ in sent + received + late]
        assert all(error is not None for error in errors[-5:]), errors
        if me.rank == 1:
            alone = [me.receive(1, 4, 3), me.send(1, b"self", 3)]
            me.finish(*alone)
            assert (alone[0][0].error, alone[0][1].data) == (None, b"self")
        me.device._close()
        return {(error.kind, error.text) for error in errors if error is not None}

    return program


def lose(sabotage, protocol, delay):
    program = survivor(*PROTOCOLS[protocol])

    def saboteur(bus, ranks):
        bus.elapse(delay)
        sabotage(bus, ranks)

    return Ranks().run(program, program, saboteur=saboteur)


@pytest.mark.parametrize("delay", [3_000_000, 60_000_000, 400_000_000])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_reset_ends_everything_with_an_error(protocol, delay):
    check(lose(reset, protocol, delay), SEEN[reset])


@pytest.mark.parametrize("sabotage", [halt, trap, hang])
@pytest.mark.parametrize("protocol", ["eager", "rendezvous"])
def test_so_do_other_ways_to_die(sabotage, protocol):
    check(lose(sabotage, protocol, 40_000_000), SEEN[sabotage])


def check(results, seen):
    (ours,), theirs = results
    assert ours[0] is ErrorKind.NIC_LOST
    assert re.search(f"the NIC of rank 0 {seen}.*start the job again", ours[1]), ours
    # The body of a packet that the NIC had begun when it failed is damaged: its receive has ended
    # before anyone was lost.
    assert {kind for kind, _ in theirs} <= {ErrorKind.PEER_FAILED, ErrorKind.DAMAGED}
    assert {text for kind, text in theirs if kind is ErrorKind.PEER_FAILED} == {ours[1]}


def test_a_world_that_is_booted_again_works_again():
    """The same processes, the same bus; both NICs, because channels count what the other end has
    received."""

    def program(me):
        other = 1 - me.rank
        pair = me.receive(other, 4)
        me.finish(pair)
        assert pair[0].error is not None
        me.ranks.meet(me.bus)
        me.device = me.device.reopen(me.ranks.boot(me.bus, me.rank))
        me.ranks.meet(me.bus)
        for size in (4, 1500, 30_000):
            sent, received = me.send(other, pattern(size, me.rank)), me.receive(other, size)
            me.finish(sent, received)
            assert (received[0].error, received[1].data) == (None, pattern(size, other))
        me.device._close()

    def saboteur(bus, ranks):
        bus.elapse(20_000_000)
        reset(bus, ranks)

    Ranks().run(program, program, saboteur=saboteur)


def test_a_nic_that_is_well_is_left_alone():
    """A rank that waits for long looks at its NIC, finds nothing, and gets its message in the
    end."""

    def program(me):
        if me.rank:
            me.bus.elapse(15 * MILLISECOND)
            me.finish(me.send(0, b"late"))
            return me.bus.now
        pair = me.receive(1, 4)
        me.finish(pair)
        assert (pair[0].error, pair[1].data) == (None, b"late")
        return me.bus.now

    arrived, sent = Ranks().run(program, program)
    assert sent < arrived < sent + MILLISECOND // 50


def test_a_deadlock_stays_one():
    """Looking at NICs that are well is nothing that keeps the world going."""

    def program(me):
        me.finish(me.receive(1 - me.rank, 4))

    with pytest.raises(Deadlock):
        Ranks().run(program, program)
