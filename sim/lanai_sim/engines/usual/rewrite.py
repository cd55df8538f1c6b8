"""Verilator's C++ of a slot in a second version, for the usual one.

In it the members with usual values are local variables that begin as constants, so that the
compiler follows them whatever is stored in between. What has changed is stored at the end. Members
that every evaluation of a slot assigns before anything reads them are local variables too. They are
stored at the end if something else reads them, and not at all otherwise.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .slot import Part, Slot, slot_of

LEAST = 100_000  # characters; a shorter slot has too little to leave out
EARLY = 8  # members that are compared one by one, before all others
MEMBER = re.compile(r"^\s+(CData|SData|IData|QData)/\*\d+:0\*/ (\w+);", re.M)
AWAKE = re.compile(r"^\s+VL_OUT8\((awake_\w+),0,0\);", re.M)  # outputs: a block that rests is awake
MENTION = re.compile(r"vlSelfRef\.(\w+)")
ASSIGNED = re.compile(r"\s*=[^=]([^;]*);")


@dataclass(frozen=True)
class Known:
    """A member that becomes a local variable. `value` is its usual one, if it has one. `read`: the
    slot needs the value that it had before. `kept`: something needs the one that it has after."""

    name: str
    kind: str  # its C++ type
    value: int | None
    read: bool
    kept: bool


def plain(member: str) -> str:
    """The name in the gateware, below the NIC, of a member of Verilator's class.

    Names of blocks and wires of the NIC that Amaranth numbers, as there are several, lose their
    numbers, which are others in a NIC with other blocks. So several members may have one name.
    """
    dotted = member.replace("__DOT__", ".")
    name = re.sub(r"__0([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), dotted)
    return re.sub(r"^(?:lanai_nic\.)?(?:nic\.)*([^.$]*)(\$\d+)?", lambda parts: parts[1] or parts[2] or "", name)


def members(header: str) -> dict[str, str]:
    """The C++ types of the scalar members of Verilator's root class, by name. Of the model's outputs
    those that say which blocks are awake."""
    inside = {name: kind for kind, name in MEMBER.findall(header)}
    return inside | dict.fromkeys(AWAKE.findall(header), "CData")


def function(root: str) -> str:
    """The name of the function that `second` adds to the code of a root class. It evaluates what
    follows the rise of the model's own clock, while other clocks stay, if all members are as usual.
    Otherwise it does nothing and returns false."""
    return f"{root}___usual"


def second(
    source: str, header: str, usual: Mapping[str, int], together: Collection[str] = (), least: int = LEAST
) -> str:
    """C++ to add to `source`, Verilator's, which has all that a slot evaluates.

    `header` declares the root class. `usual` is by names in the gateware, in the order in which to
    compare; those that the class does not have are left out. `together`: clocks that rise only when
    the model's own does. If a slot has less text than `least`, or cannot be written again safely,
    the function that is added always returns false.
    """
    slot = slot_of(source, together)
    found = _known(slot, source, header, usual) if sum(map(len, slot.own)) >= least else []
    if any(one.read for one in found):
        return _second(slot, found)
    return f"\nbool {function(slot.root)}({slot.root}*) {{ return false; }}\n"


def _known(slot: Slot, source: str, header: str, usual: Mapping[str, int]) -> list[Known]:
    order = {name: rank for rank, name in enumerate(usual)}
    own, mentions = _words("".join(slot.own)), Counter(MENTION.findall("".join(slot.own)))
    anywhere, parts = _words(source), _words("".join(part.text for part in slot.parts))
    alone = _words("".join(part.text for part in slot.parts if part.alone))
    first, first_own = _first(slot.parts), _first([part for part in slot.parts if part.own])
    known, outputs = [], AWAKE.findall(header)
    for name, kind in members(header).items():
        if 0 < mentions[name] == own[name]:  # all its mentions are of the member
            value, read = usual.get(plain(name)), _reads(*first_own[name])
            # Else whatever may come next assigns it before it looks at it.
            seen = name in outputs or name in alone or anywhere[name] > parts[name]
            kept = read or not first[name][0].own or seen
            if value is not None or not read:
                known.append(Known(name, kind, value, read, kept))
    return sorted(known, key=lambda one: order.get(plain(one.name), len(order)))


def read(slot: Slot) -> set[str]:
    """The members of which the slot needs the values that they had before, when the model's own
    clock alone rises."""
    first = _first([part for part in slot.parts if part.own])
    return {name for name in first if _reads(*first[name])}


def _first(parts: Sequence[Part]) -> dict[str, tuple[Part, re.Match[str]]]:
    """Where each member is mentioned first."""
    first: dict[str, tuple[Part, re.Match[str]]] = {}
    for part in parts:
        for found in MENTION.finditer(part.text):
            first.setdefault(found[1], (part, found))
    return first


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


def _reads(part: Part, first: re.Match[str]) -> bool:
    """False if the first that the slot does with the member, in all cases, is to assign it."""
    before = part.text[: first.start()]
    statement = max(before.rfind(mark) for mark in ";{}")
    if before[statement + 1 :].strip() or before.count("{") > before.count("}"):
        return True
    assigned = ASSIGNED.match(part.text, first.end())
    return assigned is None or re.search(rf"\b{first[1]}\b", assigned[1]) is not None


def _second(slot: Slot, found: list[Known]) -> str:
    names = {one.name for one in found}
    local = [
        MENTION.sub(lambda mention: f"usual_{mention[1]}" if mention[1] in names else mention[0], part)
        for part in slot.own
    ]
    begins = [f"    {one.kind} usual_{one.name}" + (f" = {one.value}ULL;" if one.read else ";") for one in found]
    ends = [_store(one) for one in found if one.kept]
    inside = "\n".join([*begins, *(f"    {{\n{part}    }}" for part in local), *ends])
    name = function(slot.root)
    return f"""
{_comparison(name, slot.root, [one for one in found if one.read])}

static __attribute__((noinline)) void {name}_slot({slot.root}* __restrict vlSelf) {{
    auto& vlSelfRef = *vlSelf;
{inside}
}}

bool {name}({slot.root}* vlSelf) {{
    if (!{name}_now(*vlSelf)) return false;
    {name}_slot(vlSelf);
    return true;
}}
"""


def _store(one: Known) -> str:
    store = f"vlSelfRef.{one.name} = usual_{one.name};"
    if not one.read:  # the member may have any value
        return f"    {store}"
    same = f"usual_{one.name} == {one.value}ULL"
    return f"    if (!(__builtin_constant_p({same}) && {same})) {store}"


def _comparison(name: str, root: str, read: list[Known]) -> str:
    """Bytes, most of the members, stand next to each other: they are compared 32 at a time."""
    small = [one for one in read if one.kind == "CData"]
    early = " | ".join(f"(QData)(m.{one.name} ^ {one.value}ULL)" for one in read[:EARLY])
    others = "\n".join(f"    wrong |= m.{one.name} ^ {one.value}ULL;" for one in read if one.kind != "CData")
    sets = "\n".join(
        f"        bytes.usual[offsetof(Root, {one.name}) - FIRST] = {one.value};"
        f" bytes.mask[offsetof(Root, {one.name}) - FIRST] = 255;"
        for one in small
    )
    vectors = f"""
    constexpr size_t OFFSETS[] = {{{", ".join(f"offsetof(Root, {one.name})" for one in small)}}};
    constexpr size_t FIRST = usual_bound(OFFSETS, {len(small)}, false), END = usual_bound(OFFSETS, {len(small)}, true);
    struct Bytes {{
        alignas(32) unsigned char usual[END - FIRST], mask[END - FIRST];
    }};
    static constexpr Bytes BYTES = [] {{
        Bytes bytes{{}};
{sets}
        return bytes;
    }}();
    UsualBytes differs = usual_differs<BYTES>(
        reinterpret_cast<const char*>(&m) + FIRST, std::make_index_sequence<(END - FIRST) / 32>());
    UsualWords words = (UsualWords)differs;
    wrong |= words[0] | words[1] | words[2] | words[3];
"""
    return f"""{SUPPORT}
static inline bool {name}_now(const {root}& m) {{
    using Root = {root};
    if ({early}) return false;
    QData wrong = 0;
{others}{vectors if small else ""}
    return !wrong;
}}"""


SUPPORT = """#ifndef LANAI_USUAL
#define LANAI_USUAL
#include <cstddef>
#include <utility>
typedef unsigned char UsualBytes __attribute__((vector_size(32), may_alias));
typedef QData UsualWords __attribute__((vector_size(32)));
static constexpr size_t usual_bound(const size_t* offsets, size_t count, bool end) {
    size_t bound = offsets[0];
    for (size_t i = 1; i < count; i++) bound = end == (offsets[i] > bound) ? offsets[i] : bound;
    return bound / 32 * 32 + (end ? 32 : 0);
}
template <const auto& bytes>
constexpr bool usual_in(size_t at) {
    for (size_t i = at; i < at + 32; i++)
        if (bytes.mask[i]) return true;
    return false;
}
template <const auto& bytes, size_t at>
static inline void usual_compare(const char* from, UsualBytes& differs) {
    if constexpr (usual_in<bytes>(at))
        differs |= (*(const UsualBytes*)(from + at) ^ *(const UsualBytes*)(bytes.usual + at)) &
                   *(const UsualBytes*)(bytes.mask + at);
}
template <const auto& bytes, size_t... at>
static inline UsualBytes usual_differs(const char* from, std::index_sequence<at...>) {
    UsualBytes differs{};
    (usual_compare<bytes, at * 32>(from, differs), ...);
    return differs;
}
#endif"""
