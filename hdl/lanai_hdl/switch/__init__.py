"""The wormhole switch."""

from .arbiter import HoldingArbiter
from .config import SwitchConfig
from .crossbar import Crossbar
from .input import SwitchInput
from .switch import Switch

__all__ = ["Crossbar", "HoldingArbiter", "Switch", "SwitchConfig", "SwitchInput"]
