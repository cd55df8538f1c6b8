"""A run of the rig in one order of events, and what tests read of it."""

from collections import Counter

from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import Kind, Type
from lanai_firmware.programs.mpi_np.plan import McpConfig

FULL = McpConfig(messages=4, receives=16, any_receives=2, ack_slots=1, inline_bytes=256)


def in_turn():
    step = [0]

    def choose(count):
        step[0] += 1
        return step[0] % count

    return choose


def run(rig):
    rig.run(in_turn(), 20_000)


def body(number, size=24):
    return bytes((number + i) & 255 for i in range(size))


def types(rig, source=None):
    return Counter(Type(kind).name for sender, kind in rig.packets if source is None or sender == source)


def received(host):
    return [r["operation"] for r in host.records() if r["kind"] is Kind.RECEIVED]


def channel_of(rig, number, peer=None):
    with rig.fabric.nics[number].machine:
        return state.nic.channels + (1 - number if peer is None else peer)
