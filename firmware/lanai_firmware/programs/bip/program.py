"""The BIP firmware as one object."""

from ..base import Firmware
from . import state
from .layout import READY
from .trace import VOCABULARY

FIRMWARE = Firmware(name="bip", module=f"{__package__}.main", memory=state.__name__, ready=READY, vocabulary=VOCABULARY)
