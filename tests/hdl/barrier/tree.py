"""Switches of a barrier tree one below the other, and their NICs, on a bench."""

from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig

from .star import CONFIG, KINDS, Cabled

PORTS = 3
MEMBERS = (0b101, 0b110, 0b010)  # by switch: of its ports
PARENT = (0, 0b001, 0b001)
# A chain: the switch at the top has a NIC and the next switch, this a NIC and the last, which has a
# NIC. Its port 2 leads nowhere.
NICS = ((0, 0), (1, 1), (2, 1))  # (switch, port) of each
BETWEEN = (((0, 2), (1, 0)), ((1, 2), (2, 0)))  # ends of the cables between switches


class Tree(Cabled):
    """Three NICs on three switches. `fault` sees control flits only. Wires: from NIC n (n), to NIC n
    (3 + n), down and up of each cable between switches (6, 7, 8, 9)."""

    def __init__(self, fault=None, slots=20_000):
        def only_control(wire, slot, kind, data):
            return fault(wire, slot, kind, data) if kind in KINDS else (kind, data)

        config = SwitchConfig(PORTS, CONFIG, barrier=(1 << PORTS) - 1, cascaded=True)
        super().__init__(len(NICS), only_control if fault else None, config, slots)

    def make_switches(self, top, config):
        switches = []
        for members, parent in zip(MEMBERS, PARENT, strict=True):
            switch = Switch(config)
            top.d.comb += [switch.barrier_members.eq(members), switch.barrier_parent.eq(parent)]
            switches.append(switch)
        return switches

    def ways(self):
        sockets = [(self.switches[number].tx[port], self.switches[number].rx[port]) for number, port in NICS]
        ways = [(block.wire_tx, rx) for block, (_, rx) in zip(self.blocks, sockets, strict=True)]
        ways += [(tx, block.wire_rx) for block, (tx, _) in zip(self.blocks, sockets, strict=True)]
        for (up, up_port), (low, low_port) in BETWEEN:
            ways.append((self.switches[up].tx[up_port], self.switches[low].rx[low_port]))
            ways.append((self.switches[low].tx[low_port], self.switches[up].rx[up_port]))
        return ways
