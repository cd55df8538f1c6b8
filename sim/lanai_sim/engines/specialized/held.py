"""Slots of a switch in which some inputs stay as they were: C++ that evaluates no more than what the clock sets.

Verilator evaluates what follows the inputs before each rise of the clock, whether or not they have changed.
`cxx/switch_unit.h` knows when they have not. Then what follows them is already as it should be.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from .slot import OWN, PROLOG, trigger

STOPS = r"tx___05F\d+___05Fstop"  # the inputs of a switch that seldom change
INPUT = re.compile(r"^\s+VL_IN\w*\(&?(\w+),", re.M)
FUNCTION = re.compile(r"^(?:void|bool) (\w+)\(\w+\* vlSelf\) \{\n(.*?)^\}\n", re.M | re.S)
CALLED = re.compile(r"(\w+)\(vlSelf\)")
# What Verilator evaluates in a slot beside what follows the inputs and what the clock sets.
MORE = re.compile(r"___eval_(act|inact|obs|react)\(|___eval_phase__(?!ico|act|nba|stl)")
TRIGGERED = "vlSelfRef.__VnbaTriggered[0U]"
TEXT = """
bool {root}___held({root}* vlSelf) {{
    auto& vlSelfRef = *vlSelf;
    {triggered} = {clock}ULL;
    {root}___eval_nba(vlSelf);
    {triggered} = 0;
    return true;
}}
"""
NONE = """
bool {root}___held({root}*) {{ return false; }}
"""


def header(model: str, may_hold: bool) -> list[str]:
    """C++ of the function `held` of a model of this class, which calls the one of `written` if it `may_hold`."""
    if not may_hold:
        return [f"inline bool held({model}&) {{ return false; }}"]
    function, root = f"{model}___024root___held", f"{model}___024root"
    return [f"bool {function}({root}*);", f"inline bool held({model}& model) {{ return {function}(model.rootp); }}"]


def written(source: str, header: str, inputs: str) -> str:
    """C++ to add to Verilator's `source`: a function `<root>___held` that does all of an evaluation after the clock has
    risen, if no input changed whose name `inputs` matches. It returns false, and does nothing, for a source that
    follows other inputs before the clock too, or is not as usual. `header` declares the root class."""
    functions = dict(FUNCTION.findall(source))
    root = next(name for name in functions if name.endswith("___eval_nba")).removesuffix("___eval_nba")
    before = "".join(_reached(functions, f"{root}___eval_ico"))
    followed = [name for name in INPUT.findall(header) if re.search(rf"\b{name}\b", before)]
    clock = trigger(source, OWN)
    usual = clock and f"{TRIGGERED})" in source and not MORE.search(source) and "vlSymsp" not in PROLOG.sub("", before)
    fits = usual and all(re.fullmatch(inputs, name) for name in followed)
    return (TEXT if fits else NONE).format(root=root, clock=clock, triggered=TRIGGERED)


def _reached(functions: dict[str, str], first: str) -> Iterator[str]:
    """The texts of a function and of all that it calls."""
    todo, seen = [first], set[str]()
    while todo:
        name = todo.pop()
        if name in functions and name not in seen:
            seen.add(name)
            yield functions[name]
            todo += CALLED.findall(functions[name])


def key() -> str:
    """Equal for two calls only if they write the same C++."""
    return Path(__file__).read_text()
