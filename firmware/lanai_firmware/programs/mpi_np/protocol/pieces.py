"""Short bodies that are described by the pieces in their requests (NP-47)."""

from lanai_firmware.lang import Ptr, inline, minimum, u32

from ..memory.cursor import allowed
from ..rows import Send


@inline
def pieces_allowed(send: Ptr[Send], length: u32) -> bool:
    """May a short body be read from the inline pieces of its send? It has a byte or more."""
    endpoint = send.endpoint
    part = minimum(send.pieces[0].length, length)
    rest = length - part
    if not allowed(endpoint, send.pieces[0].address, part) or (rest != 0 and send.pieces[1].length < rest):
        return False
    return rest == 0 or allowed(endpoint, send.pieces[1].address, rest)
