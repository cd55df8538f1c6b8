"""The wormhole switch."""

from ..switch_config import SwitchConfig
from .arbiter import HoldingArbiter
from .crossbar import Crossbar
from .input import SwitchInput
from .switch import Switch

__all__ = ["Crossbar", "HoldingArbiter", "Switch", "SwitchConfig", "SwitchInput"]
