"""Words that are declared in plain Python, as gates: a layout, the bit of a flag, and the status word of
the DMA engines."""

from functools import cache

from amaranth import Cat, Const
from amaranth.lib import data

from .csr.declare import Status
from .words import Word


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


@cache
def layout(word: type[Word]) -> data.StructLayout:
    """For signals and ports. A field that is an enumeration is a plain number of the same width."""
    return data.StructLayout({name: field.width for name, field in word.fields.items()})
