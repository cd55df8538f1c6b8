"""The benchmarks that are run, how often each iterates, and what a step of its work takes."""

from dataclasses import dataclass

ANY = "any_source"  # a variant: receives name no source, as in NPB 2.3
NSR = "nsr"  # a way to run it: without requests
ALONE = "alone"  # another: without a network
FEWER = 4  # ranks of the further runs
ON_FEWER = f"on_{FEWER}"  # in their figures' names


def dotted(*parts: str) -> str:
    """A figure's name, or a part of it."""
    return ".".join(filter(None, parts))


@dataclass(frozen=True)
class Program:
    """One benchmark.

    Attributes:
        step_ns: what a basic block takes. One process of class W then takes as long as the paper's
            (tables 4.4 to 4.10; EP by its problem's size). The blocks are those of gfortran 12 with
            `building.FLAGS`.
        parameter: what says how often it iterates, in its file `header`; "" if it is run whole.
        iterations: instead of its own number, by class; 0: its own.
        any_source: the files whose nonblocking receives name no source in the variant `ANY`, which is
            the paper's. Class W is run in it alone.
        whole: the class that tables 4.4 to 4.10 are measured with, and how often its timed part, as it
            is run here, goes into the paper's.
    """

    name: str
    ranks: int
    step_ns: int
    parameter: str
    iterations: dict[str, int]
    any_source: str = ""
    whole: tuple[str, int] = ("W", 1)
    header: str = "npbparams.h"

    @property
    def variant(self) -> str:
        """The variant that is like the paper's."""
        return ANY if self.any_source else ""

    def variants(self, kind: str) -> tuple[str, ...]:
        """Return the variants in which a class is run."""
        return ("", ANY) if kind == "S" and self.any_source else (self.variant,)

    @property
    def timed(self) -> str:
        """The class and, before it, the variant of tables 4.4 to 4.10."""
        kind, _ = self.whole
        return dotted(self.variant, kind)


# A nonblocking receive up to its source, which stands behind its type.
SOURCE = r"(?is)(call mpi_irecv\((?:(?!call).)*?dp_type,[\s>]*)(?:north|south|east|west|nbr\(axis,-dir,k\)),"

PROGRAMS = (
    Program("ep", 8, 754, "", {"S": 0}, whole=("S", 2)),  # class W has twice as many random numbers
    Program("mg", 8, 217, "nit_default", {"S": 0, "W": 4}, "MG/mg.f", whole=("W", 10)),  # `building.MG_SIZE`
    Program("cg", 8, 315, "niter", {"S": 2, "W": 1}, whole=("W", 15)),
    Program("is", 8, 310, "MAX_ITERATIONS", {"S": 0, "W": 2}, whole=("W", 5), header="is.c"),
    Program("lu", 8, 992, "itmax_default", {"S": 2, "W": 2}, "LU/exchange_*.f", whole=("W", 150)),
    Program("sp", 9, 676, "niter_default", {"S": 3, "W": 2}, whole=("W", 200)),
    Program("bt", 9, 1525, "niter_default", {"S": 3, "W": 2}, whole=("W", 100)),
)


def begin(program: Program, ranks: int) -> str:
    """Return how the names of its figures on so many ranks begin."""
    return dotted("theirs.npb", program.name, ON_FEWER if ranks == FEWER else "")
