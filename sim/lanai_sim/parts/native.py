"""The native code of the links between parts on one machine, mailboxes.c."""

from enum import IntEnum
from functools import cache
from typing import Any

from lanai_host.c_module import enums, load

ROOM = 1 << 20  # bytes of a message: more than the flits of a round on all cables of a cut


class Failure(IntEnum):
    """The reason for which a round failed."""

    HAS_LEFT = 1
    CHECK_FAILED = 2
    TOO_LONG = 3


DECLARED = """
struct mailbox;
struct mailboxes {
    struct mailbox **boxes;
    uint32_t (*check)(void);
    uint32_t number, count;
    uint64_t sent, waited_ns, detail;
    uint32_t failure;
};
uint64_t mailbox_size(void);
void mailbox_begin(struct mailbox *box);
uint32_t mailboxes_exchange(void *links, const uint8_t *bytes, uint64_t size, const uint8_t **others);
uint64_t mailboxes_size(struct mailboxes *all, uint32_t number);
void mailboxes_leave(struct mailboxes *all);
typedef uint32_t (*exchange)(void *links, const uint8_t *bytes, uint64_t size, const uint8_t **others);
uint64_t exchange_often(exchange function, void *links, const uint8_t *bytes, uint64_t size, const uint8_t **others,
                        uint64_t rounds);
"""


def header(room: int = ROOM) -> str:
    """Return what the code takes from Python."""
    return f"{enums(Failure)}#define MAILBOX_ROOM {room}\n"


@cache
def native() -> Any:
    """Return the module with the code, compiled."""
    return load(__package__, "mailboxes", DECLARED, header=header())
