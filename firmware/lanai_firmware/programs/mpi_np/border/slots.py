"""Request slots: given back to the host by flipping a bit, without a message unless the host waits
for one."""

from lanai_firmware.lang import Ptr, firmware

from ..codes import SEND_FREE
from ..layout import Kind
from ..memory.send_buffers import buffered, free_ahead
from ..rows import Send
from .records import report


@firmware
def give_slot_back(send: Ptr[Send]) -> None:
    """The host may use this request slot again."""
    if buffered():
        free_ahead(send)
    send.state = SEND_FREE
    endpoint = send.endpoint
    freed = endpoint.freed ^ send.bit
    endpoint.freed = freed
    region = endpoint.region
    region.freed = freed
    if region.alarm != 0:
        region.alarm = 0
        report(endpoint, Kind.ROOM)
