"""The room of a receive: how much of a message it takes, and which messages it takes by a shorter
way. Those fit into its first piece of host memory, or into the first two."""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, minimum, u32

from ..layout import Error
from ..memory.cursor import allowed
from ..rows import Receive


@inline
def fit(receive: Ptr[Receive], length: u32) -> u32:
    """Return how many bytes of a message of `length` the receive takes. Note the error if those are
    not all."""
    receive.error = Error.OK
    if length > receive.limit:
        receive.total = length
        receive.error = Error.TRUNCATED
        return receive.limit
    return length


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
