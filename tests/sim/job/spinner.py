"""Firmware whose processor never waits."""

from lanai_firmware.lang import firmware


@firmware
def main() -> None:
    while True:
        pass
