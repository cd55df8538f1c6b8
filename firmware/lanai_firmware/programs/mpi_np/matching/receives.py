"""Which messages a receive takes by a shorter way: those that fit into its first piece of host
memory, or into the first two."""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, minimum

from ..memory.cursor import allowed
from ..rows import Receive


@inline
def measure(receive: Ptr[Receive]) -> None:
    """Note how long they are. The cursor must stand at the first piece."""
    cursor = address_of(receive.cursor)
    receive.whole = minimum(cursor.left, receive.limit)
    receive.both = 0
    if cursor.entries[0].pieces[1].length != 0:
        measure_both(receive)


@firmware(inline=False)
def measure_both(receive: Ptr[Receive]) -> None:
    """The same where there is a second piece."""
    cursor = address_of(receive.cursor)
    second = address_of(cursor.entries[0].pieces[1])
    if cursor.left != 0 and allowed(receive.endpoint, second.address, second.length):
        receive.both = minimum(cursor.left + second.length, receive.limit)
