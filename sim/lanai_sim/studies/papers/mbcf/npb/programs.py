"""Which of the benchmarks are run, how often each iterates, and what a step of its work takes."""

from dataclasses import dataclass

ANY = "any_source"  # a variant: receives name no source, as in NPB 2.3


@dataclass(frozen=True)
class Program:
    """One benchmark.

    Attributes:
        step_ns: what a basic block takes. One process of class W then takes as long as the paper's
            (tables 4.4 to 4.10; EP and MG by their problem's size). The blocks are those of
            gfortran 12 with `building.FLAGS`.
        parameter: the member of npbparams.h that says how often it iterates; "" if it is run whole.
        iterations: instead of its own number, by class; 0: its own.
        any_source: the files whose nonblocking receives name no source in the variant `ANY`.
    """

    name: str
    ranks: int
    step_ns: int
    parameter: str
    iterations: dict[str, int]
    any_source: str = ""

    @property
    def variants(self) -> tuple[str, ...]:
        return ("", ANY) if self.any_source else ("",)


# A nonblocking receive up to its source, which stands behind its type.
SOURCE = r"(?is)(call mpi_irecv\((?:(?!call).)*?dp_type,[\s>]*)(?:north|south|east|west|nbr\(axis,-dir,k\)),"

PROGRAMS = (
    Program("ep", 8, 754, "", {"S": 0}),
    Program("mg", 8, 198, "", {"S": 0}, "MG/mg.f"),
    Program("cg", 8, 315, "niter", {"S": 2, "W": 1}),
    Program("is", 8, 310, "", {"S": 0}),
    Program("lu", 8, 992, "itmax_default", {"S": 2, "W": 2}, "LU/exchange_*.f"),
    Program("sp", 9, 676, "niter_default", {"S": 3, "W": 2}),
    Program("bt", 9, 1525, "niter_default", {"S": 3, "W": 2}),
)
