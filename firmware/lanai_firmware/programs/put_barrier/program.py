"""The put firmware with the barrier tree as one object."""

from ..base import Firmware
from ..put import state
from ..put.program import JUDGES
from .layout import READY

FIRMWARE = Firmware(name="put-barrier", module=f"{__package__}.main", memory=state.__name__, ready=READY, judges=JUDGES)
