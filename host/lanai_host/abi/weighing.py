"""An assembler that lets a program count its instructions: the compiler's own, behind a filter of its input.

The compiler calls a function at each basic block (`-fsanitize-coverage=trace-pc`). The filter puts the
number of instructions of the block, which end at the next call, in place of the call: an addition to
`lanai_steps`. This file runs by itself, without the package, once for each file that is compiled.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CALL = re.compile(r"\s+call[q]?\s+\*?_?_sanitizer_cov_trace_pc(@\S+)?\s*$")
INSTRUCTION = re.compile(r"\s+[a-z][a-z0-9]*")
SECTION = re.compile(r"\s+\.(text|section|popsection|pushsection|previous|subsection)\b")
# The call may change these registers and the flags, so the addition may. It works in programs and in shared libraries.
ADDITION = "\tmovq\tlanai_steps@GOTPCREL(%rip), %rax\n\taddq\t${}, (%rax)\n"


def weigh(text: str) -> str:
    """An assembler file of x86-64 in which each call is the addition of its block's instructions. Those of a function
    before its first block belong to that one."""
    lines = text.splitlines(keepends=True)
    counts: dict[int, int] = {}  # of instructions, by the call's line
    block, early = -1, 0  # the call that instructions belong to; those before a function's first
    for number, line in enumerate(lines):
        if CALL.match(line):
            block, early = number, early + counts.pop(-1, 0)
            counts[block], early = early, 0
        elif SECTION.match(line) or line.startswith("\t.type"):
            block = -1
            counts.pop(-1, None)
        elif INSTRUCTION.match(line):
            counts[block] = counts.get(block, 0) + 1
    for number, count in counts.items():
        if number >= 0:
            lines[number] = ADDITION.format(count)
    return "".join(lines)


def main(assembler: str, arguments: list[str]) -> int:
    """Assemble as `assembler` does with these arguments, what the filter makes of the file."""
    with tempfile.TemporaryDirectory(prefix="lanai-as-") as folder:
        changed = []
        for argument in arguments:
            path = Path(argument)
            if path.suffix == ".s" and path.is_file():
                argument = str(Path(folder, path.name))
                Path(argument).write_text(weigh(path.read_text(errors="surrogateescape")), errors="surrogateescape")
            changed.append(argument)
        return subprocess.run([assembler, *changed], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
