"""The check that a descriptor stays inside the SRAM."""


def leaves_sram(config, start, length):
    """High if `length` bytes from `start`, both 32 bits wide, reach past the end of the SRAM."""
    return (start + length) > config.sram_size
