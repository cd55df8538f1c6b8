"""Fields of a register's word as gates: the bit of a flag, and the status word of the DMA
engines."""

from amaranth import Cat, Const

from .csr.status import Status


def bit(word, flag):
    """The bit of `word` that `flag`, a member of an `IntFlag`, names."""
    return word[flag.value.bit_length() - 1]


def status_word(free, **flags):
    """A status register's value: the number of free queue entries, and flags named as in `Status`,
    in lower case."""
    value = Cat(free, Const(0, 32 - len(free)))
    for name, flag in flags.items():
        value = value | (flag << (Status[name.upper()].value.bit_length() - 1))
    return value
