"""The daemon as one object."""

from ..base import Firmware
from . import state
from .layout import READY

FIRMWARE = Firmware(name="ccu", module=f"{__package__}.main", memory=state.__name__, ready=READY)
