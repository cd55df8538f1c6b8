"""Words of host memory that a process waits for. Each wait looks at all of them several times, so the looks are in C
(`words.c`)."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from lanai_host.c_module import load

DECLARED = """
typedef struct { const unsigned char *memory; uint32_t address, seen; } Word;
typedef struct { const unsigned char *memory; uint64_t first, size; } Buffer;
uint32_t words_find(const char *watched, uint32_t count, const Buffer *buffers, uint32_t buffer_count, Word *into);
int words_changed(const Word *words, uint32_t count);
int words_changed_apart(const Word *words, uint32_t count, uint32_t number);
void words_remove(Word *words, uint32_t count, uint32_t number);
void words_look(Word *words, uint32_t count);
uint32_t words_held(const Word *words, uint32_t number);
typedef void Watch(void *engine, uint32_t nic, uint32_t address, uint32_t seen, uint32_t tag);
void words_watch(const Word *words, uint32_t count, Watch *watch, void *engine, uint32_t nic, uint32_t tag);
"""


@cache
def _native() -> Any:
    return load(__package__, "words", DECLARED)


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

    def held(self, number: int) -> int:
        """Return what one of the words holds."""
        return int(self._lib.words_held(self._at, number))

    def look(self) -> None:
        """The process has now seen what the words hold."""
        self._lib.words_look(self._at, self._count)

    def watch(self, watch: Any, engine: Any, nic: int, tag: int) -> None:
        """Have an engine watch the words. `watch` and `engine` are what `watching` gave."""
        self._lib.words_watch(self._at, self._count, watch, engine, nic, tag)

    def part(self, first: int, end: int) -> "Words":
        """Some of the words, which are the same ones."""
        return Words(self._at + first, end - first, (self._memory, self._at))

    def changed_apart_from(self, number: int) -> bool:
        """Return whether a word but this one is not what was seen."""
        return bool(self._lib.words_changed_apart(self._at, self._count, number))

    def remove(self, number: int) -> None:
        """Remove one of the words."""
        self._lib.words_remove(self._at, self._count, number)
        self._count -= 1


def watching(watch: int, engine: int) -> tuple[Any, Any]:
    """Return what `Words.watch` takes, of the addresses of an engine's function for one word and of the engine."""
    ffi = _native().ffi
    return ffi.cast("Watch *", watch), ffi.cast("void *", engine)


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

    def find(self, watched: bytes, count: int) -> Words | int:
        """The words that a request lists; or the number of the first one that is in no buffer."""
        native = _native()
        at = native.ffi.new("Word[]", count)
        found = native.lib.words_find(native.ffi.from_buffer(watched), count, self._table, len(self._buffers), at)
        return Words(at, count, self._buffers) if found == count else int(found)
