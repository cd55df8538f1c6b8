"""The switching hub: wires framers and a switch."""

from amaranth import Cat, Module
from amaranth.lib import wiring

from ..switch.switch import Switch
from .config import SwitchingHubConfig
from .framer import Framer


class SwitchingHub(wiring.Component):
    """A switch between cables that carry frames both ways at once. Members: as `Switch`.

    A frame takes its times on its way in (`FrameTimes`); what leaves follows without them.
    """

    def __init__(self, config: SwitchingHubConfig):
        self.config = config
        self._switch = Switch(config)
        super().__init__(dict(self._switch.signature.members))

    def elaborate(self, platform):
        m = Module()
        m.submodules.switch = switch = self._switch
        framers = [Framer(self.config.nic, self.config.frame) for _ in range(self.config.ports)]
        for n, framer in enumerate(framers):
            m.submodules[f"framer{n}"] = framer
            wiring.connect(m, wiring.flipped(self.rx[n]), framer.rx)
            wiring.connect(m, framer.tx, switch.rx[n])
            wiring.connect(m, switch.tx[n], wiring.flipped(self.tx[n]))
        for name in ("bad_routes", "blocked", "strays", "forwarded", "resets"):
            m.d.comb += getattr(self, name).eq(getattr(switch, name))
        m.d.comb += self.idle.eq(switch.idle & Cat(framer.idle for framer in framers).all())
        return m
