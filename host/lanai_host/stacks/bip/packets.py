"""The contents of short packets: the library's header, which the host strips, and bytes."""

import struct
from typing import NamedTuple

from lanai_firmware.lang import sizeof
from lanai_firmware.programs.bip.layout import Header, Type

HEADER = struct.Struct(">BBHIIHHI")
FIELDS = struct.Struct(">II")  # of a request, behind its bytes: what, number
WORD = struct.Struct(">I")

assert HEADER.size == int(sizeof(Header))


class Head(NamedTuple):
    """A header, as `layout.Header` has it."""

    type: int
    credit: int = 0
    channel: int = 0
    tag: int = 0
    length: int = 0
    context: int = 0
    sequence: int = 0
    handle: int = 0


ENVELOPES = (Type.EAGER, Type.SYNC, Type.ASK)
