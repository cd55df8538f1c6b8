"""The units between NICs, by configuration: a switch, or a unit with the same wires in its place."""

from amaranth.lib import wiring

from lanai_hdl.hub.config import SwitchingHubConfig
from lanai_hdl.hub.switching import SwitchingHub
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.ring.ring import Ring
from lanai_hdl.segment.config import SegmentConfig
from lanai_hdl.segment.segment import Segment
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig


def unit(config: SwitchConfig | SegmentConfig | RingConfig) -> wiring.Component:
    """The component that this configuration is of."""
    if isinstance(config, SegmentConfig):
        return Segment(config)
    if isinstance(config, RingConfig):
        return Ring(config)
    if isinstance(config, SwitchingHubConfig):
        return SwitchingHub(config)
    return Switch(config)
