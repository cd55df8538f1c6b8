"""Pieces of a short body (NP-47), or the page entry of a long one: all that the request of a send names."""

from lanai_firmware.lang import Ptr, firmware, inline, minimum, u32

from ..memory.cursor import allowed
from ..rows import Endpoint, Send


@inline
def pieces_allowed(send: Ptr[Send], length: u32) -> bool:
    """May a short body be read from the inline pieces of its send? It has a byte or more."""
    endpoint = send.endpoint
    part = minimum(send.pieces[0].length, length)
    rest = length - part
    if not allowed(endpoint, send.pieces[0].address, part) or (rest != 0 and send.pieces[1].length < rest):
        return False
    return rest == 0 or allowed(endpoint, send.pieces[1].address, rest)


@firmware
def announce(endpoint: Ptr[Endpoint], index: u32) -> bool:
    """Let the peer of a page entry ask for it, once. False if there is no such entry."""
    if index == 0 or index >= endpoint.page_entries:
        return False
    endpoint.announced[index >> 5] |= u32(1) << (index & 31)
    return True


@firmware
def is_announced(endpoint: Ptr[Endpoint], index: u32) -> bool:
    return index < endpoint.page_entries and (endpoint.announced[index >> 5] >> (index & 31)) & 1 != 0


@firmware
def withdraw_entry(endpoint: Ptr[Endpoint], index: u32) -> None:
    """The entry was asked for, or is not to be."""
    endpoint.announced[index >> 5] &= ~(u32(1) << (index & 31))
