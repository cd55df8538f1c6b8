"""Amaranth's layout of a word that is declared in plain Python."""

from functools import cache

from amaranth.lib import data

from .words import Word


@cache
def layout(word: type[Word]) -> data.StructLayout:
    """For signals and ports. A field that is an enumeration is a plain number of the same width."""
    return data.StructLayout({name: field.width for name, field in word.fields.items()})
