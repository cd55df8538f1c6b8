"""Verilator's C++ of a slot in two versions: for any state, and for the usual one.

In the second version the members with usual values are local variables that begin as constants, so
that the compiler follows them whatever is stored in between. What has changed is stored at the end.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LEAST = 100_000  # characters; a shorter function has too little to leave out
EARLY = 8  # members that are compared one by one, before all others
MEMBER = re.compile(r"^\s+(CData|SData|IData|QData)/\*\d+:0\*/ (\w+);", re.M)
MENTION = re.compile(r"vlSelfRef\.(\w+)")
ASSIGNED = re.compile(r"\s*=[^=]([^;]*);")
# How Verilator begins a function. What else names these could reach members in another way.
PROLOG = re.compile(
    r"    VL_DEBUG_IF\([^\n]*\n"
    r"    \w+__Syms\* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;\n"
    r"    auto& vlSelfRef = std::ref\(\*vlSelf\)\.get\(\);\n"
)


@dataclass(frozen=True)
class Known:
    """A member with a usual value. `read`: the function needs the value that it had before."""

    name: str
    kind: str  # its C++ type
    value: int
    read: bool


def plain(member: str) -> str:
    """The name in the gateware, below the NIC, of a member of Verilator's class.

    Names of blocks and wires of the NIC that Amaranth numbers, as there are several, lose their
    numbers, which are others in a NIC with other blocks. So several members may have one name.
    """
    dotted = member.replace("__DOT__", ".")
    name = re.sub(r"__0([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), dotted)
    return re.sub(r"^(?:lanai_nic\.)?(?:nic\.)*([^.$]*)(\$\d+)?", lambda parts: parts[1] or parts[2] or "", name)


def members(header: str) -> dict[str, str]:
    """The C++ types of the scalar members of Verilator's root class, by name."""
    return {name: kind for kind, name in MEMBER.findall(header)}


def rewritten(source: str, header: str, usual: Mapping[str, int], least: int = LEAST) -> str:
    """`source` with a second version of each function of a slot; as it is where that cannot be
    done safely.

    `header` declares the root class. `usual` is by names in the gateware, in the order in which to
    compare. Names that the class does not have are left out, and functions shorter than `least`.
    """
    order = {name: rank for rank, name in enumerate(usual)}
    kinds = {name: kind for name, kind in members(header).items() if plain(name) in usual}
    ranked = sorted(kinds, key=lambda name: order[plain(name)])
    parts, end = [], 0
    for begin, stop in _functions(source):
        function = source[begin:stop]
        body = PROLOG.sub("", function.split("\n", 1)[1], count=1)
        if len(function) < least or re.search(r"\b(vlSelf|vlSymsp)\b", body):
            continue
        mentioned = set(MENTION.findall(function))
        found = [
            Known(name, kinds[name], usual[plain(name)], _reads(function, name))
            for name in ranked
            if name in mentioned and _only_as_member(function, name)
        ]
        if any(one.read for one in found):
            parts += [source[end:begin], _twice(function, found)]
            end = stop
    return "".join([*parts, source[end:]])


def _functions(source: str) -> Iterator[tuple[int, int]]:
    """Begin and end of the functions that clocks call."""
    for head in re.finditer(r"^void \w+___nba_\w+\(\w+\* vlSelf\) \{$", source, re.M):
        end = source.find("\n}\n", head.start())
        if end >= 0:
            yield head.start(), end + 3


def _only_as_member(function: str, name: str) -> bool:
    return len(re.findall(rf"\b{name}\b", function)) == len(re.findall(rf"vlSelfRef\.{name}\b", function))


def _reads(function: str, name: str) -> bool:
    """False if the first that the function does with the member, in all cases, is to assign it."""
    first = re.search(rf"vlSelfRef\.{name}\b", function)
    assert first is not None
    before = function[: first.start()]
    statement = max(before.rfind(mark) for mark in ";{}")
    if before[statement + 1 :].strip() or before.count("{") - before.count("}") > 1:
        return True
    assigned = ASSIGNED.match(function, first.end())
    return assigned is None or re.search(rf"\b{name}\b", assigned[1]) is not None


def _twice(function: str, found: list[Known]) -> str:
    head, body = function.split("\n", 1)
    parsed = re.match(r"void (\w+)\((\w+)\*", head)
    prolog = PROLOG.match(body)
    assert parsed is not None
    assert prolog is not None  # else the function would have been left alone
    name, root = parsed[1], parsed[2]
    names = {one.name for one in found}
    local = MENTION.sub(lambda mention: f"usual_{mention[1]}" if mention[1] in names else mention[0], body)
    begins = [f"    {one.kind} usual_{one.name}" + (f" = {one.value}ULL;" if one.read else ";") for one in found]
    at = prolog.end()  # it mentions no member
    inside = "\n".join([local[:at] + "\n".join(begins), local[at : local.rindex("}")], *map(_store, found), "}"])
    attribute = "static __attribute__((noinline))"
    return f"""{attribute} void {name}_any({root}* vlSelf) {{
{body}
{attribute} void {name}_usual({root}* __restrict vlSelf) {{
{inside}

{_comparison(name, root, [one for one in found if one.read])}
{head}
    if ({name}_is_usual(*vlSelf)) {name}_usual(vlSelf);
    else {name}_any(vlSelf);
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
    const char* from = reinterpret_cast<const char*>(&m) + FIRST;
    UsualBytes differs{{}};
    for (size_t i = 0; i < END - FIRST; i += 32)
        differs |= (*(const UsualBytes*)(from + i) ^ *(const UsualBytes*)(BYTES.usual + i)) &
                   *(const UsualBytes*)(BYTES.mask + i);
    UsualWords words = (UsualWords)differs;
    wrong |= words[0] | words[1] | words[2] | words[3];
"""
    return f"""{SUPPORT}
static inline bool {name}_is_usual(const {root}& m) {{
    using Root = {root};
    if ({early}) return false;
    QData wrong = 0;
{others}{vectors if small else ""}
    return !wrong;
}}"""


SUPPORT = """#ifndef LANAI_USUAL
#define LANAI_USUAL
#include <cstddef>
typedef unsigned char UsualBytes __attribute__((vector_size(32), may_alias));
typedef QData UsualWords __attribute__((vector_size(32)));
static constexpr size_t usual_bound(const size_t* offsets, size_t count, bool end) {
    size_t bound = offsets[0];
    for (size_t i = 1; i < count; i++) bound = end == (offsets[i] > bound) ? offsets[i] : bound;
    return bound / 32 * 32 + (end ? 32 : 0);
}
#endif"""
