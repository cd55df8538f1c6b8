"""Words of SRAM by address."""

from lanai_firmware.lang import Ptr, at, inline, u32


@inline
def word_at(address: u32) -> Ptr[u32]:
    return at(Ptr[u32], address)
