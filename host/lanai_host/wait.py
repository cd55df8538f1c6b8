"""The reason why a process waits, for reports."""

from typing import NamedTuple


class Wait(NamedTuple):
    """The reason why a process waits: what a report of a stopped run says about it. None is "any" or "does not
    apply".

    Members:
        peer, tag: as the program gave them: a rank of the communicator, a tag of its own.
        note: what is waited for, in words.
        awaits: ranks of the world of which `every` one (else any one) must do something before the
            wait can end.
        site: where the program called: "file:line", or "@address" of the instruction in its memory
            (`call_site`).
    """

    call: str
    peer: int | None = None
    tag: int | None = None
    context: int | None = None
    note: str = ""
    awaits: tuple[int, ...] = ()
    every: bool = True
    site: str = ""
