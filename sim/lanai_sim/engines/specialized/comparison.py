"""C++ that compares members of Verilator's class with known values.

Bytes, most of the members, stand next to each other: they are compared 32 at a time.
"""

from collections.abc import Sequence
from typing import NamedTuple

EARLY = 8  # members that are compared one by one, before all others


class Compared(NamedTuple):
    """A member, its C++ type and its value."""

    name: str
    kind: str
    value: int


def comparison(name: str, root: str, members: Sequence[Compared]) -> str:
    """Return the text of a function of this name that says whether all these members of the class `root`
    have their values."""
    small = [one for one in members if one.kind == "CData"]
    early = " | ".join(f"(QData)(m.{one.name} ^ {one.value}ULL)" for one in members[:EARLY])
    others = "\n".join(f"    wrong |= m.{one.name} ^ {one.value}ULL;" for one in members if one.kind != "CData")
    return f"""
static inline bool {name}(const {root}& m) {{
    using Root = {root};
    if ({early}) return false;
    QData wrong = 0;
{others}{_vectors(small) if small else ""}
    return !wrong;
}}"""


def _vectors(small: Sequence[Compared]) -> str:
    sets = "\n".join(
        f"        bytes.known[offsetof(Root, {one.name}) - FIRST] = {one.value};"
        f" bytes.mask[offsetof(Root, {one.name}) - FIRST] = 255;"
        for one in small
    )
    return f"""
    constexpr size_t OFFSETS[] = {{{", ".join(f"offsetof(Root, {one.name})" for one in small)}}};
    constexpr size_t FIRST = known_bound(OFFSETS, {len(small)}, false), END = known_bound(OFFSETS, {len(small)}, true);
    struct Bytes {{
        alignas(32) unsigned char known[END - FIRST], mask[END - FIRST];
    }};
    static constexpr Bytes BYTES = [] {{
        Bytes bytes{{}};
{sets}
        return bytes;
    }}();
    KnownBytes differs = known_differs<BYTES>(
        reinterpret_cast<const char*>(&m) + FIRST, std::make_index_sequence<(END - FIRST) / 32>());
    KnownWords words = (KnownWords)differs;
    wrong |= words[0] | words[1] | words[2] | words[3];
"""


SUPPORT = """#ifndef LANAI_KNOWN
#define LANAI_KNOWN
#include <cstddef>
#include <utility>
typedef unsigned char KnownBytes __attribute__((vector_size(32), may_alias));
typedef QData KnownWords __attribute__((vector_size(32)));
static constexpr size_t known_bound(const size_t* offsets, size_t count, bool end) {
    size_t bound = offsets[0];
    for (size_t i = 1; i < count; i++) bound = end == (offsets[i] > bound) ? offsets[i] : bound;
    return bound / 32 * 32 + (end ? 32 : 0);
}
template <const auto& bytes>
constexpr bool known_in(size_t at) {
    for (size_t i = at; i < at + 32; i++)
        if (bytes.mask[i]) return true;
    return false;
}
template <const auto& bytes, size_t at>
static inline void known_compare(const char* from, KnownBytes& differs) {
    if constexpr (known_in<bytes>(at))
        differs |= (*(const KnownBytes*)(from + at) ^ *(const KnownBytes*)(bytes.known + at)) &
                   *(const KnownBytes*)(bytes.mask + at);
}
template <const auto& bytes, size_t... at>
static inline KnownBytes known_differs(const char* from, std::index_sequence<at...>) {
    KnownBytes differs{};
    (known_compare<bytes, at * 32>(from, differs), ...);
    return differs;
}
#endif"""
