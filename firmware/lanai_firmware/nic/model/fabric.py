"""NICs and wires, and the order in which things happen."""

from collections import deque
from collections.abc import Callable

from lanai_hdl.config import NicConfig, lanai41

from .nic import HostMemory, Nic, Packet


class Fabric:
    """NICs and the wires among them; a route's top byte names the NIC (0x80 | number). Each pair
    has a wire of its own."""

    def __init__(self, nics: int, turn: Callable[[], object], config: NicConfig | None = None) -> None:
        self.nics = [Nic(HostMemory(), turn, config or lanai41()) for _ in range(nics)]
        self.filter: Callable[[int, int, Packet], list[Packet]] = lambda source, target, packet: [packet]
        self.wires: dict[tuple[int, int], deque[Packet]] = {}

    def actions(self) -> list[tuple[str, int, int]]:
        """Everything that could happen now: (what, where, from where). Timers go off when nothing
        else can happen, all at one pace."""
        found: list[tuple[str, int, int]] = []
        for number, nic in enumerate(self.nics):
            while nic.wire:
                packet = nic.wire.popleft()
                target = (packet.route >> 24) & 0x7F
                wire = self.wires.setdefault((number, target), deque())
                wire.extend(self.filter(number, target, packet))
            if nic.runnable():
                found.append(("turn", number, 0))
            if nic.arriving:
                found.append(("finish", number, 0))
            if nic.may_copy():
                found.append(("copy", number, 0))
            if nic.may_send():
                found.append(("send", number, 0))
        for (source, target), wire in self.wires.items():
            if wire and self.nics[target].accepts():
                found.append(("accept", target, source))
        if found:
            return found
        armed = [(nic.ticks, number) for number, nic in enumerate(self.nics) if nic.armed]
        return [("tick", number, 0) for ticks, number in armed if ticks == min(armed)[0]]

    def act(self, action: tuple[str, int, int]) -> None:
        what, number, source = action
        nic = self.nics[number]
        if what == "accept":
            if nic.accepts():  # another wire may have been quicker
                nic.accept(self.wires[source, number].popleft())
        elif what == "turn":
            nic.turn()
        elif what == "tick":
            nic.tick()
        elif what == "finish":
            if nic.arriving:
                nic.finish()
        elif what == "copy":
            if nic.may_copy():  # the firmware may have waited for it
                nic.copy()
        else:
            nic.send()

    def run(self, limit: int = 100_000) -> None:
        """Let everything happen until nothing can."""
        for _ in range(limit):
            actions = self.actions()
            if not actions:
                return
            for action in actions:
                self.act(action)
        raise AssertionError(f"the NICs are still busy after {limit} rounds")
