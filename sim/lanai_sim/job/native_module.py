"""The module of `native_loop.c`: what it is made of, and what Python has of it."""

from functools import cache
from typing import Any

from lanai_host.c_module import enums, load
from lanai_host.simulator.protocol import CATCH_UP_TIME, Op, Status
from lanai_host.simulator.requests import LOOK, QUIET, WAIT_ANY, WAITED, WATCHED_WORD
from lanai_host.simulator.spin import PARTS as SPIN_PARTS

from ..engines.base import EventKind
from ..engines.declared import EVENT
from ..engines.words import Stage
from .rank_service import QUIET_AT_MOST
from .request import HEADER_TEXT

DECLARED = """
typedef struct { ...; } Spin;
typedef struct { ...; } Reach;
typedef struct { ...; } Buffer;
typedef struct { ...; } Word;
typedef struct { ...; } Burst;
typedef struct { Word *words; uint32_t count, decisive; ...; } Poll;
typedef struct { ...; } Continuation;
enum { TURN, BYTES, STOPS, ... };
typedef struct {
    int sock;
    uint32_t number, nic;
    Spin *spin;
    const Reach *reach;
    const Buffer *buffers;
    uint32_t buffer_count;
    int64_t clock, pio, waited;
    uint32_t expired, tag, changed, op, count;
    long got;
    int64_t timeout;
    Poll poll;
    Continuation continuation;
    uint32_t room;
    char *came, *data;
    Word *words;
    Burst *bursts;
    ...;
} LoopRank;
typedef struct {
    void *engine;
    int64_t next;
    uint64_t khz, limit, reached, bound;
    uint32_t last_tag;
    int processor;
    int64_t now;
    uint32_t running, heard, waiting, changed;
    LoopRank **runs, **waits, **changes;
    uint32_t turns;
    double seconds[...];
    uint32_t released[...];
    int64_t began;
    uint32_t ran, ending;
    const double *mark;
    uint32_t marked;
    uint32_t entries;
    double engine_seconds, system;
    ...;
} Loop;
void loop_calls(Loop *l, uintptr_t run, uintptr_t events, uintptr_t slot, uintptr_t bursts,
    uintptr_t quiet_until);
int loop_serve(Loop *l);
int loop_end(Loop *l, uint32_t tag);
void loop_leave(Loop *l, LoopRank *r);
"""
NAMES = {
    "WAIT_ANY": Op.WAIT_ANY,
    "LOOK_AND_WAIT": Op.LOOK_AND_WAIT,
    "CATCH_UP": Op.CATCH_UP,
    "CATCH_UP_TIME": CATCH_UP_TIME,
    "QUIET_AT_MOST": QUIET_AT_MOST,
    "OK": Status.OK,
    "LOOK_BYTES": LOOK.size,
    "WAIT_ANY_BYTES": WAIT_ANY.size,
    "WATCHED_WORD_BYTES": WATCHED_WORD.size,
    "WAITED_BYTES": WAITED.size,
    "QUIET_BYTES": QUIET.size,
}
HEADER = (
    "#include <assert.h>\n#include <stddef.h>\n#include <stdint.h>\n"
    f"typedef struct Event Event;\n{EVENT.text}{enums(Stage, EventKind)}{HEADER_TEXT}"
    f"enum {{ {', '.join(f'{name} = {int(value)}' for name, value in NAMES.items())} }};\n"
)
PARTS = (
    *SPIN_PARTS,
    ("lanai_host.simulator", "spin"),
    ("lanai_sim.engines", "words"),
    ("lanai_sim.job", "writes"),
    ("lanai_sim.job", "served_rank"),
)


@cache
def module() -> Any:
    """The module: `.lib` and `.ffi`."""
    return load(__package__, "native_loop", DECLARED, *PARTS, header=HEADER)


def address(pointer: Any) -> int:
    """Return where a pointer points to."""
    return int(module().ffi.cast("uintptr_t", pointer))


def pointer(kind: str, other: Any) -> Any:
    """Return a pointer of another module, or an address, as one of this module."""
    return module().ffi.cast(kind, other)
