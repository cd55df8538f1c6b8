"""The self-test as one object. A bitstream carries its image (`FIRMWARE.words`)."""

from ..base import Firmware

FIRMWARE = Firmware(name="selftest", module=f"{__package__}.main")
