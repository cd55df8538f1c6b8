"""Components as Verilog that event simulators run too."""

import re
from itertools import count
from typing import Any

from amaranth.back import verilog
from amaranth.lib.wiring import In

from .errors import UserError

# Yosys gives each module a register whose only use is to run its processes once: it is 0 from its declaration on. IEEE
# 1364-2005 makes an event of that and IEEE 1800 does not, so a simulator of SystemVerilog would begin with nothing.
_TRIGGER = re.compile(r"^  reg (\\\$auto\$verilog_backend\S+ ) = 0;\n", re.MULTILINE)
_ONCE = "  reg {0};\n  initial {0}<= 0; // after all processes wait\n"
# Where some bits of a signal are constant, it writes a process that reads nothing: to event simulators it never runs.
_CONSTANT = re.compile(r"^  always @\*\n    (\S.* = \d+'[bdh][0-9a-f]+;)\n", re.MULTILINE)


def convert(component: Any, name: str = "top", **options: Any) -> str:
    """Return the text of `component` as the module `name`, with its parts.

    A member `a` of the interface `i` becomes the port `i__a`. The clock is `clk`, the synchronous
    reset `rst`. `options` are those of `amaranth.back.verilog.convert`. Every register begins with
    the value that a reset gives it.
    """
    text = by_yosys(component, name, **{"strip_internal_attrs": True, **options})
    text = _TRIGGER.sub(lambda found: _ONCE.format(found[1]), text)
    number = count()
    return _CONSTANT.sub(lambda found: _running_once(f"\\$once${next(number)} ", found[1]), text)


def _running_once(trigger: str, statement: str) -> str:
    """Return a process that runs a statement once, after all processes wait."""
    return f"{_ONCE.format(trigger)}  always @* begin\n    if ({trigger}) begin end\n    {statement}\n  end\n"


def by_yosys(component: Any, name: str, **options: Any) -> str:
    """Return what `amaranth.back.verilog.convert` does. Raises UserError if there is no Yosys."""
    try:
        return str(verilog.convert(component, name=name, **options))
    except verilog.YosysError as error:
        if "Could not find" not in str(error):
            raise
        raise UserError(
            "Verilog is written by Yosys, which was not found; run: pip install 'openlanai[verilog]'"
        ) from error


def input_names(component: Any) -> list[str]:
    """The ports of the converted component that its surroundings drive, without clock and reset."""
    members = component.signature.flatten(component)
    return ["__".join(map(str, path)) for path, member, _ in members if member.flow is In]
