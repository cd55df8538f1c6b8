"""The entry point."""

from lanai_firmware.lang import firmware

from .boot import boot
from .scheduler import turn


@firmware
def main() -> None:
    """Boot, then take turns for ever. Returns only if the driver's plan is not for this
    firmware."""
    if boot():
        while True:
            turn()
