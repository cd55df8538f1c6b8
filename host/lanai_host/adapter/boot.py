"""The registers that the host sets up before processes use the adapter: numbers, routes, bus windows. Only the host
itself may do this.
"""

from collections.abc import Mapping

from lanai_hdl.errors import UserError
from lanai_hdl.machine import REGISTERS_HOST
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.csr import ALONE, ENABLE, NUMBER_SHIFT, OPENING, PEER_LOST, REMOTE, WINDOW_VALID

from ..bus.base import Bus

WINDOW = 1 << 28  # bus addresses of a process; window 0 belongs to no process
TIMEOUT = 6600  # slots: 100 us at 66 MHz, some times what the longest packet needs with both buses busy
MOST_TIMEOUT = (1 << 24) - 1  # what the register holds
RETRIES = 8


def register(name: str) -> int:
    """Offset of one of the adapter's registers in the host's window."""
    return REGISTERS_HOST + int(getattr(REMOTE.registers, name).offset)


def counter(name: str) -> int:
    """Offset of one of the adapter's counters in the host's window."""
    return REGISTERS_HOST + int(getattr(REMOTE.counters, name).offset)


def boot(
    bus: Bus,
    config: Remote,
    number: int,
    routes: Mapping[int, int],
    *,
    timeout: int = TIMEOUT,
    retries: int = RETRIES,
    together: bool = False,
) -> None:
    """Enable the adapter of a NIC that has been reset, or never used.

    Args:
        number: of this NIC among all.
        routes: for each NIC that this one may reach, what the head of a packet carries.
        timeout: slots without an answer until requests are sent again.
        retries: how often that is done until the peer is lost.
        together: all NICs were powered up together and are reset and booted together. So each knows the
            others' boots by its own, and the first request to a peer need not come twice. If that is
            not so, peers are lost until they are opened with `reopen`.

    Raises:
        UserError: a number that the adapter was not built for.
    """
    for what, peer in (("number", number), *(("routes", peer) for peer in routes)):
        if not 0 <= peer < config.peers:
            raise UserError(f"{what}: NIC {peer!r} must be from 0 to {config.peers - 1} (Remote.peers)")
    if not 1 <= timeout <= MOST_TIMEOUT:
        raise UserError(f"timeout={timeout!r} must be from 1 to {MOST_TIMEOUT} slots")
    if not 0 <= retries <= 255:
        raise UserError(f"retries={retries!r} must be from 0 to 255")
    for peer, route in routes.items():
        bus.write(register("REMOTE_PEER"), peer)
        bus.write(register("REMOTE_ROUTE"), route)
    for process in range(config.processes):
        bus.write(register("REMOTE_PROCESS"), process)
        bus.write(register("REMOTE_WINDOW"), WINDOW_VALID | (process + 1) * WINDOW >> 28)
    bus.write(register("REMOTE_TIMEOUT"), timeout | retries << 24)
    bus.write(register("REMOTE_CONTROL"), ENABLE | (0 if together else ALONE) | number << NUMBER_SHIFT)


def reopen(bus: Bus, config: Remote, peer: int | None = None) -> None:
    """Begin a new session with a NIC that was lost: it was reset, or its cable was out. Without `peer`, with each
    that is lost.

    Returns once all that was under way has ended, to whatever NIC. What is begun later belongs to the
    new session. All processes should have seen the ends of what they had begun to that NIC.

    Raises:
        UserError: a number that the adapter was not built for.
    """
    if peer is not None and not 0 <= peer < config.peers:
        raise UserError(f"NIC {peer!r} must be from 0 to {config.peers - 1} (Remote.peers)")
    for one in lost_peers(bus, config) if peer is None else [peer]:
        bus.write(register("REMOTE_OPEN"), one)
        while bus.read(register("REMOTE_LOST")) & OPENING:
            pass


def lost_peers(bus: Bus, config: Remote) -> list[int]:
    """Return the NICs that are lost: each has not answered, or was reset, and was not opened since."""
    lost = []
    for peer in range(config.peers):
        bus.write(register("REMOTE_PEER"), peer)
        if bus.read(register("REMOTE_LOST")) & PEER_LOST:
            lost.append(peer)
    return lost
