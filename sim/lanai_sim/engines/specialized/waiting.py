"""NICs that wait outside their model: C++ that says that nothing but counters changes from slot to slot, and adds to
them.

`cxx/waiting.h` decides with it which slots need no evaluation, of NICs with blocks that rest.
"""

from collections.abc import Collection, Mapping, Sequence

from . import span
from .core import WORDS, only
from .counters import Counter
from .reads import MENTION

NAME = "waiting"
SUPPORT = """
namespace {{
using Waiting = {root};
// The slots for which a register goes on as it did in these slots, until it is near a limit.
inline uint64_t waiting_ahead(uint64_t value, uint64_t next, uint64_t value_seen, uint64_t next_seen, uint64_t apart,
                              bool up, uint64_t mask, std::initializer_list<uint64_t> limits) {{
    constexpr uint64_t FAR = 1u << 30, NEAR = 4;
    if (value == value_seen && next == next_seen) return FAR;
    const uint64_t step = up ? apart : -apart;
    if (((value_seen + step) & mask) != value || ((next_seen + step) & mask) != next) return 0;
    uint64_t left = up ? mask - value : value;
    for (const uint64_t limit : limits) {{
        const uint64_t away = up ? limit - value : value - limit;
        if (int64_t(away) >= 0 && away < left) left = away;
    }}
    return left < NEAR ? 0 : left - NEAR < FAR ? left - NEAR : FAR;
}}
}}
"""
ALL = """
uint64_t {root}___waiting_now(const {root}* root) {{ return root->{now}; }}
bool {root}___waiting_counts(const {root}* root) {{ return {counts}; }}
bool {root}___waiting_shows(const char* seen, const char* other) {{
    return {shows};
}}
uint32_t {root}___waiting_left(const {root}* root, const char* seen, uint32_t apart) {{
    auto& vlSelfRef = *root;
    uint64_t left = (1ull << 33) - 1 - root->{now}, one;
{left}
    return uint32_t(left < 1u << 30 ? left : 1u << 30);
}}
void {root}___waiting_count({root}* root, const char* seen, uint32_t slots) {{
    root->{now} += slots;
{count}
}}
"""
NONE = """
uint64_t {root}___waiting_now(const {root}*) {{ return 0; }}
bool {root}___waiting_counts(const {root}*) {{ return true; }}
bool {root}___waiting_shows(const char*, const char*) {{ return false; }}
uint32_t {root}___waiting_left(const {root}*, const char*, uint32_t) {{ return 0; }}
void {root}___waiting_count({root}*, const char*, uint32_t) {{}}
"""
FUNCTIONS = ("counts", "shows", "left", "count", "now")


def header(root: str) -> str:
    """C++ that declares the functions of `written`."""
    return "\n".join(
        [
            "#define LANAI_WAITING",
            *span.declared(NAME, root),
            f"bool {root}___waiting_counts(const {root}*);",
            f"bool {root}___waiting_shows(const char*, const char*);",
            f"uint32_t {root}___waiting_left(const {root}*, const char*, uint32_t);",
            f"void {root}___waiting_count({root}*, const char*, uint32_t);",
            f"uint64_t {root}___waiting_now(const {root}*);",
            *(f"#define waiting_{name} {root}___waiting_{name}" for name in FUNCTIONS),
        ]
    )


def none(root: str) -> str:
    """C++ for a model of which all slots are evaluated."""
    return span.none(NAME, root) + NONE.format(root=root)


def written(
    root: str, names: Mapping[str, str], needed: Collection[str], outputs: Sequence[str], counters: Sequence[Counter]
) -> str:
    """C++ for a model of class `root`. `names`: its members' names in the gateware. `needed`: members whose values an
    evaluation needs. `outputs`: its outputs. `counters`: registers that count."""
    now = only(names, WORDS["NOW"][0])
    if now is None:
        return none(root)
    counters = [one for one in counters if {one.name, one.next, *MENTION.findall("".join(one.limits))} <= {*needed}]
    kept = [name for counter in counters for name in (counter.name, counter.next)]
    compared = sorted(({*needed} | {*outputs}) - {now, *kept})
    events = [name for word in ("NOTED", "DUE") if (name := only(names, WORDS[word][0]))]
    return "".join(
        [
            "#include <initializer_list>\n",
            span.written(NAME, root, compared, kept),
            SUPPORT.format(root=root),
            ALL.format(
                root=root,
                now=now,
                counts=" || ".join(f"root->{name}" for name in events) or "false",
                shows=" && ".join(f"!__builtin_memcmp({_seen(name)}, sizeof(Waiting::{name}))" for name in outputs),
                left="\n".join(map(_left, counters)),
                count="\n".join(map(_count, counters)),
            ),
        ]
    )


def _seen(name: str) -> str:
    at = f"offsetof(Waiting, {name}) - {NAME}_FIRST"
    return f"seen + {at}, other + {at}"


def _value(name: str) -> str:
    return f"*reinterpret_cast<const decltype(Waiting::{name})*>(seen + offsetof(Waiting, {name}) - {NAME}_FIRST)"


def _left(counter: Counter) -> str:
    values = (f"root->{counter.name}", f"root->{counter.next}", _value(counter.name), _value(counter.next))
    limits = ", ".join(f"uint64_t({limit})" for limit in counter.limits)
    up = "true" if counter.up else "false"
    return (
        f"    one = waiting_ahead({', '.join(values)}, apart, {up}, {counter.mask}u, {{{limits}}});\n"
        "    if (one < left) left = one;"
    )


def _count(counter: Counter) -> str:
    sign = "+" if counter.up else "-"
    return (
        f"    if (root->{counter.name} != {_value(counter.name)}) {{\n"
        f"        root->{counter.name} {sign}= slots;\n        root->{counter.next} {sign}= slots;\n    }}"
    )
