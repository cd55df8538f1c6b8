"""Block copy and fill. Words when everything is word aligned, bytes otherwise. Blocks that are
copied may overlap."""

from lanai_firmware.lang import Ptr, cast, firmware, u8, u32


@firmware
def copy_words(target: Ptr[u32], source: Ptr[u32], count: u32) -> None:
    """Four words a turn, then one."""
    while count >= 4:
        first = source[0]
        second = source[1]
        third = source[2]
        fourth = source[3]
        target[0] = first
        target[1] = second
        target[2] = third
        target[3] = fourth
        target += 4
        source += 4
        count -= 4
    while count != 0:
        target[0] = source[0]
        target += 1
        source += 1
        count -= 1


@firmware
def copy_bytes(target: Ptr[u8], source: Ptr[u8], size: u32) -> None:
    """Copy as if all bytes were read before any is written: backwards if the target begins within the
    source."""
    ahead = u32(target) - u32(source)  # wraps to a large number if the target is below
    if ahead < size:
        copy_back(target, source, size)
        return
    if (ahead | u32(source) | size) & 3 == 0:
        copy_words(cast(u32, target), cast(u32, source), size >> 2)
        return
    while size != 0:
        target[0] = source[0]
        target += 1
        source += 1
        size -= 1


@firmware(inline=False)
def copy_back(target: Ptr[u8], source: Ptr[u8], size: u32) -> None:
    if (u32(target) | u32(source) | size) & 3 == 0:
        words = cast(u32, target)
        given = cast(u32, source)
        count = size >> 2
        while count != 0:
            count -= 1
            words[count] = given[count]
        return
    while size != 0:
        size -= 1
        target[size] = source[size]


@firmware
def fill_bytes(target: Ptr[u8], value: u32, size: u32) -> None:
    while size != 0 and (u32(target) | size) & 3 != 0:
        target[0] = value
        target += 1
        size -= 1
    pattern = value & 255
    pattern |= pattern << 8
    pattern |= pattern << 16
    words = cast(u32, target)
    for _ in range(size >> 2):
        words[0] = pattern
        words += 1
