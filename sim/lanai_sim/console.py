"""The one way to a terminal or a file for tables and reports: text comes out as it is, square
brackets and all.

Rich would read `[...]` as markup and `:name:` as an emoji. Texts here quote users' commands, paths
and source lines, so both are off. A style is given as `style=` or by `rich.text.Text`.
"""

import os
import sys

from rich.console import Console

NARROWEST = 150  # columns; a narrower terminal wraps lines, since a figure or a command that was cut is worth nothing


def discard_output() -> None:
    """Standard output leads nowhere from now on: its reader has gone, and what is left to do must
    still be done."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Console(Console):
    """A console whose reader may go away, as `lanai trace report T --html P | head` does: the page is
    written all the same."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        discard_output()


def plain() -> Console:
    """Return a console as wide as the terminal, or of 80 columns for a file."""
    return _Console(markup=False, emoji=False, highlight=False)


def wide() -> Console:
    """Wide enough for the widest tables."""
    console = _Console(markup=False, emoji=False, highlight=False, soft_wrap=True)
    console.width = max(console.width, NARROWEST)
    return console
