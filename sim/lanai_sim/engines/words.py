"""Words of host memory that a process waits for. Each wait looks at all of them several times, so the looks are in C
(`words.c`)."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

from lanai_host.c_module import enums, load

DECLARED = """
typedef struct { const unsigned char *memory; uint32_t address, seen; } Word;
typedef struct { const unsigned char *memory; uint64_t first, size; } Buffer;
uint32_t words_find(const char *watched, uint32_t count, const Buffer *buffers, uint32_t buffer_count, Word *into);
int words_changed(const Word *words, uint32_t count);
uint32_t wait_begins(const Word *words, uint32_t count);
uint32_t wait_looks(const Word *words, uint32_t count);
uint32_t wait_told(const Word *words, uint32_t count, int64_t told, int64_t first_look);
typedef void WatchWord(void *engine, uint32_t nic, uint32_t address, uint32_t seen, uint32_t tag);
void words_watch(const Word *words, uint32_t count, WatchWord *watch, void *engine, uint32_t nic, uint32_t tag);
typedef struct {
    Word *words;
    uint64_t time, noting;
    uint32_t count, decisive;
    int32_t place;
    uint32_t value;
    uint32_t noted, polls;
} Poll;
int64_t poll_first(Poll *one);
int64_t poll_again(Poll *one);
typedef struct {
    Poll *polls;
    uint64_t elapsed, catch_up;
    uint32_t number, stage;
    uint64_t written, now, clock, since, waited;
    uint32_t waits;
} Continuation;
"""


@cache
def _native() -> Any:
    return load(__package__, "words", DECLARED, header=enums(Stage))


class Stage(IntEnum):
    """The place of a process that writes, comes up to its time, and waits for words."""

    WRITES = 0  # and has not begun with what follows
    CATCHES_UP = 1  # until its clock
    COMES = 2  # to its clock, when it looks at the words
    WATCHES = 3  # waits for a change of a word
    ENDS = 4  # the wait is over


class Word(NamedTuple):
    """One word: its bus address, and what the process has seen there."""

    address: int
    seen: int


class Words:
    """Words of one process. They keep the memory that they are in from being unmapped."""

    __slots__ = ("_at", "_count", "_lib", "_memory")

    def __init__(self, at: Any, count: int, memory: object) -> None:
        self._at = at
        self._memory = memory
        self._count = count
        self._lib = _native().lib

    @classmethod
    def of(cls, words: Sequence[tuple[int, int, memoryview]]) -> "Words":
        """Words of other memory than a process has allocated: of each its bus address, what was seen, where it is."""
        ffi = _native().ffi
        memory = [ffi.from_buffer("unsigned char[4]", view) for _, _, view in words]
        made = [(at, address, seen) for at, (address, seen, _) in zip(memory, words, strict=True)]
        return cls(ffi.new("Word[]", made), len(words), memory)

    @classmethod
    def at(cls, address: int, count: int, memory: object) -> "Words":
        """Words that C code has found in this memory, and keeps at an address."""
        return cls(_native().ffi.cast("Word *", address), count, memory)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Word]:
        return iter([Word(self._at[i].address, self._at[i].seen) for i in range(self._count)])

    @property
    def changed(self) -> bool:
        """One of the words is not what was seen."""
        return bool(self._lib.words_changed(self._at, self._count))

    @property
    def key(self) -> bytes:
        """Equal for the same words of which the same was seen."""
        ffi = _native().ffi
        return bytes(ffi.buffer(self._at, ffi.sizeof("Word") * self._count))

    def wait_begins(self) -> int:
        """The `Stage` of a wait that begins."""
        return int(self._lib.wait_begins(self._at, self._count))

    def wait_looks(self) -> int:
        """The `Stage` of a wait after a look at the words."""
        return int(self._lib.wait_looks(self._at, self._count))

    def wait_told(self, told: int, first_look: int) -> int:
        """The `Stage` of a wait that is told of a change. One up to `first_look` is there when the process looks."""
        return int(self._lib.wait_told(self._at, self._count, told, first_look))

    def watch(self, watch: Any, engine: Any, nic: int, tag: int) -> None:
        """Have an engine watch the words. `watch` and `engine` are what `watching` gave."""
        self._lib.words_watch(self._at, self._count, watch, engine, nic, tag)

    def part(self, first: int, end: int) -> "Words":
        """Some of the words, which are the same ones."""
        return Words(self._at + first, end - first, (self._memory, self._at))

    def polled(self, decisive: int, time: int, place: int, value: int, noting: int) -> "Polls":
        """The polls of a wait for these words, of which the last ones are decisive (`bus.base.KnownPoll`)."""
        count = self._count - decisive
        return Polls(self, _native().ffi.new("Poll *", (self._at, time, noting, count, decisive, place, value, 0, 0)))


class Polls:
    """The polls of one wait, as `words.c` does them: they take time and do nothing else."""

    __slots__ = ("_all", "_lib", "native")

    def __init__(self, words: Words, native: Any) -> None:
        self._all = words
        self._lib = _native().lib
        self.native = native

    @classmethod
    def at(cls, address: int, words: Words) -> "Polls":
        """Polls that C code keeps at an address. `words`: those of the wait and the decisive ones."""
        return cls(words, _native().ffi.cast("Poll *", address))

    @property
    def words(self) -> Words:
        """The words that the process waits for, as it has seen them."""
        return self._all.part(0, self.native.count)

    @property
    def noted(self) -> int:
        """1 once the word at `KnownPoll.place` was noted."""
        return int(self.native.noted)

    @property
    def polls(self) -> int:
        """Return how many polls did nothing."""
        return int(self.native.polls)

    def first(self) -> int | None:
        """The time of a poll before the wait; None if the process must poll by itself."""
        return _time(self._lib.poll_first(self.native))

    def again(self) -> int | None:
        """The time of a poll after the wait; None if the process must poll by itself, also when its time was up."""
        return _time(self._lib.poll_again(self.native))


def _time(took: int) -> int | None:
    return None if took < 0 else took


class Continuation:
    """A process's doings `elapsed` picoseconds after its writes: it may take `catch_up` to come up to its time and
    poll, and then it waits and polls. The engine goes on with that by itself until it stops.

    Members:
        address: of the struct that the engine writes to.
        state: that struct, of `words.c`.
        nic: the NIC that is written to.
        polls: those of the wait.
        timeout: picoseconds that a wait lasts at most; 0 for one without end.
    """

    __slots__ = ("address", "nic", "polls", "state", "timeout")

    def __init__(self, nic: int, polls: Polls, elapsed: int, catch_up: int, timeout: int, number: int) -> None:
        ffi = _native().ffi
        self.state = ffi.new("Continuation *", (polls.native, elapsed, catch_up, number))
        self.address = int(ffi.cast("uintptr_t", self.state))
        self.nic = nic
        self.polls = polls
        self.timeout = timeout

    @classmethod
    def at(cls, address: int, nic: int, polls: Polls, timeout: int) -> "Continuation":
        """A continuation that C code has given to the engine, and keeps at an address."""
        found = cls.__new__(cls)
        found.state = _native().ffi.cast("Continuation *", address)
        found.address, found.nic, found.polls, found.timeout = address, nic, polls, timeout
        return found


def watching(watch: int, engine: int) -> tuple[Any, Any]:
    """Return what `Words.watch` takes, of the addresses of an engine's function for one word and of the engine."""
    ffi = _native().ffi
    return ffi.cast("WatchWord *", watch), ffi.cast("void *", engine)


class Buffers:
    """Memory of one process, in which its words are."""

    def __init__(self) -> None:
        self._buffers: list[tuple[int, Any]] = []  # bus address, memory
        self._table: Any = None

    def add(self, first: int, memory: Any) -> None:
        """`memory` begins at this bus address."""
        self._put([*self._buffers, (first, _native().ffi.from_buffer("unsigned char[]", memory))])

    def clear(self) -> None:
        """Words are in none of these buffers any more. The memory can be unmapped unless words were found in it."""
        self._put([])

    def _put(self, buffers: list[tuple[int, Any]]) -> None:
        self._buffers = buffers
        table = [(memory, first, len(memory)) for first, memory in buffers]
        self._table = _native().ffi.new("Buffer[]", table)

    @property
    def table(self) -> tuple[Any, int]:
        """The buffers for `words.c`, and how many."""
        return self._table, len(self._buffers)

    @property
    def memory(self) -> object:
        """The memory of the buffers, which keeps it from being unmapped."""
        return self._buffers

    def find(self, watched: bytes, count: int) -> Words | int:
        """The words that a request lists; or the number of the first one that is in no buffer."""
        native = _native()
        at = native.ffi.new("Word[]", count)
        found = native.lib.words_find(native.ffi.from_buffer(watched), count, self._table, len(self._buffers), at)
        return Words(at, count, self._buffers) if found == count else int(found)
