"""C++ that keeps bytes of a model, and compares members with those that were kept."""

from collections.abc import Sequence

TEXT = """
namespace {{
constexpr struct {{ size_t at, size; bool compared; }} {name}_MEMBERS[] = {{{members}}};
constexpr size_t {name}_bound(bool end) {{
    size_t bound = {name}_MEMBERS[0].at;
    for (auto& one : {name}_MEMBERS) {{
        const size_t at = one.at + (end ? one.size : 0);
        bound = end == (at > bound) ? at : bound;
    }}
    return bound / 32 * 32 + (end ? 32 : 0);
}}
constexpr size_t {name}_FIRST = {name}_bound(false), {name}_ALL = {name}_bound(true) - {name}_FIRST;
constexpr size_t {name}_SPAN = {name}_ALL <= {most} ? {name}_ALL : 0;
struct {name}_Mask {{
    alignas(32) unsigned char bytes[{name}_SPAN + 32];
}};
constexpr {name}_Mask {name}_MASK = [] {{
    {name}_Mask mask{{}};
    for (auto& one : {name}_MEMBERS)
        for (size_t i = one.at - {name}_FIRST; {name}_SPAN && one.compared && i < one.at - {name}_FIRST + one.size; i++)
            mask.bytes[i] = 255;
    return mask;
}}();
}}
uint64_t {root}___{name}_bytes() {{ return {name}_SPAN; }}
void {root}___{name}_look(const {root}* root, char* into) {{
    __builtin_memcpy(into, reinterpret_cast<const char*>(root) + {name}_FIRST, {name}_SPAN);
}}
bool {root}___{name}_same(const {root}* root, const char* seen) {{
    const char* now = reinterpret_cast<const char*>(root) + {name}_FIRST;
    for (size_t part = 0; part < {name}_SPAN; part += {part}) {{
        KnownBytes differs{{}};
        const size_t end = part + {part} < {name}_SPAN ? part + {part} : {name}_SPAN;
        for (size_t at = part; at < end; at += 32)
            differs |= (*(const KnownBytes*)(now + at) ^ *(const KnownBytes*)(seen + at)) &
                       *(const KnownBytes*)({name}_MASK.bytes + at);
        const KnownWords words = (KnownWords)differs;
        if (words[0] | words[1] | words[2] | words[3]) return false;
    }}
    return {name}_SPAN != 0;
}}
"""
NONE = """
uint64_t {root}___{name}_bytes() {{ return 0; }}
void {root}___{name}_look(const {root}*, char*) {{}}
bool {root}___{name}_same(const {root}*, const char*) {{ return false; }}
"""
FUNCTIONS = ("bytes", "look", "same")
MOST = 16384  # bytes, gaps and all; of members that are further apart nothing is kept
PART = 512  # bytes that are compared before the first look at whether they differ


def declared(name: str, root: str) -> list[str]:
    """C++ that declares the functions of `written`."""
    return [
        f"uint64_t {root}___{name}_bytes();",
        f"void {root}___{name}_look(const {root}*, char*);",
        f"bool {root}___{name}_same(const {root}*, const char*);",
        *(f"#define {name}_{function} {root}___{name}_{function}" for function in FUNCTIONS),
    ]


def written(name: str, root: str, compared: Sequence[str], kept: Sequence[str] = ()) -> str:
    """C++ functions of a model of class `root`, whose names contain `name`: `look` keeps the members `compared` and
    `kept`, and `same` says whether the first have the values that were kept."""
    members = ", ".join(
        f"{{offsetof({root}, {member}), sizeof({root}::{member}), {'true' if is_compared else 'false'}}}"
        for group, is_compared in ((compared, True), (kept, False))
        for member in group
    )
    return TEXT.format(name=name, root=root, members=members, most=MOST, part=PART)


def none(name: str, root: str) -> str:
    """The same functions, for a model of which nothing is kept."""
    return NONE.format(name=name, root=root)
