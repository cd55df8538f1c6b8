"""The corpus: small programs with labels, in texts of the folder `corpus`.

A program begins with `== name | class | language ranks`; the class is `ok` if it is right. With a fourth
part `X=a,b Y=c,d` there is one program for each place in these lists, which stand for {X} and {Y} in all of
it. Lines that end in `//!` or `#!` are those that a finding shall name one of. `c` is the body of main
between MPI_Init and MPI_Finalize, `raw` a whole C file, `py` follows the lines of PY.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lanai_host.abi.wrappers import WRAPPERS, line
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError

CORPUS = Path(__file__).parent / "corpus"
C_BEGIN = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define W MPI_COMM_WORLD
int main(int argc, char **argv) {
int rank, size; MPI_Init(&argc, &argv); MPI_Comm_rank(W, &rank); MPI_Comm_size(W, &size);
"""
C_END = "MPI_Finalize(); return 0; }\n"
PY = """import numpy as np
from mpi4py import MPI
w = MPI.COMM_WORLD
rank, size = w.rank, w.size
"""
SPLIT = re.compile(r",(?![^(]*\))")  # commas outside of parentheses


@dataclass(frozen=True)
class Program:
    """`kind` is the class of its finding, or "ok"."""

    name: str
    kind: str
    language: str
    ranks: int
    text: str

    @property
    def right(self):
        return self.kind == "ok"

    @property
    def file(self):
        return re.sub(r"[^\w-]+", "_", self.name)[:60] + (".py" if self.language == "py" else ".c")

    @property
    def lines(self):
        """The lines of which a finding names one, in its spelling."""
        marked = [number for number, line in enumerate(self.text.splitlines(), 1) if re.search(r"(//|#)!$", line)]
        return {f"{self.file}:{number}" for number in marked}

    def write(self, folder):
        path = folder / self.file
        path.write_text(self.text)
        return path

    def built(self, folder):
        """The command that runs it."""
        path = self.write(folder)
        return [sys.executable, str(path)] if self.language == "py" else [str(compiled(path))]


def compiled(path):
    """The program of a C file, which is built with checks of loads and stores."""
    made = path.with_suffix("")
    command = line(WRAPPERS["mpicc"], [str(path), "-o", str(made)], checked=True).command
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    return made


def programs():
    found = [one for path in sorted(CORPUS.glob("*.txt")) for one in _in(path)]
    assert len({one.name for one in found}) == len(found), "two programs have one name"
    return found


def _in(path):
    for part in re.split(r"^== ", path.read_text(), flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        name, kind, how, *choices = [word.strip() for word in head.split(" | ")]
        language, ranks = how.split()
        for values in _values(choices[0] if choices else ""):
            chosen, text = name, body
            for key, value in values.items():
                chosen, text = chosen.replace(f"{{{key}}}", value), text.replace(f"{{{key}}}", value)
            yield Program(f"{path.stem}/{chosen}", kind, language, int(ranks), _whole(language, text))


def _values(text):
    lists = {key: SPLIT.split(values) for key, _, values in (word.partition("=") for word in _words(text))}
    if not lists:
        return [{}]
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def _words(text):
    return re.findall(r"[A-Z]+=\S+", text)


def _whole(language, body):
    if language == "raw":
        return body
    return PY + body if language == "py" else C_BEGIN + body + C_END


def has_compiler():
    try:
        find(Language.C)
    except UserError:
        return False
    return True
