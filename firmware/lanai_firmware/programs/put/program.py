"""The put firmware as one object."""

from ..base import Firmware
from . import state
from .layout import READY

FIRMWARE = Firmware(name="put", module=f"{__package__}.main", memory=state.__name__, ready=READY)
