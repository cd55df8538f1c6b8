"""The parameters of one switch."""

from dataclasses import dataclass, field

from .config import BlockedAction, NicConfig, lanai41
from .errors import UserError
from .numbers import Scaled
from .ranges import check_within


@dataclass(frozen=True)
class SwitchConfig(Scaled):
    """Parameters of one switch.

    `nic` is the NIC that is plugged in: its link rate, latency and FIFO depth are the switch's own. A
    packet that does not move for `blocked_slots` slots (its output is taken, the far side says
    STOP, its own sender is silent in its midst) is given up as `blocked_action` says: DROP discards
    what is left of it (`SwitchInput`), RESET clears the whole switch, every packet in it included
    (NP-19). 0 waits for ever. Firmware that sends a packet piece by piece must not pause for as
    long between two of them.

    `multicast`: packets may go to several ports at once (`lanai_hdl.link.format`).

    `barrier`: the ports, a bit each, that the barrier tree joins; 0 for a switch without it.
    `cascaded`: the tree may have several switches. All ports can then be in it, and inputs of the
    switch say which are.
    """

    ports: int = 8
    nic: NicConfig = field(default_factory=lanai41)
    blocked_slots: int = 0
    blocked_action: BlockedAction = BlockedAction.DROP
    barrier: int = 0
    cascaded: bool = False
    multicast: bool = False

    def __post_init__(self) -> None:
        check_within(self, "ports", 2, 16)
        check_within(self, "blocked_slots", 0, 2**31)
        what = f"a mask of the {self.ports} ports, a whole number"
        check_within(self, "barrier", 0, (1 << self.ports) - 1, what)
        if self.cascaded and self.barrier != (1 << self.ports) - 1:
            raise UserError(f"barrier={self.barrier!r} must name all {self.ports} ports, as cascaded=True has it")
