"""Which MPI a program was linked for, read from the file before it is started."""

from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from ..errors import UserError
from .flavor import MPICH, STANDARD

# Libraries whose ABI is not ours, and whose they are.
_FOREIGN = {"libmpi.so.40": "Open MPI", "libmpi.so.20": "Open MPI", STANDARD.soname: "the standard MPI ABI"}


def check_program(path: Path) -> None:
    """Raise UserError if the program needs an MPI library with another ABI. Scripts, and files that are no ELF, pass."""
    for name in needed(path):
        if name in _FOREIGN:
            raise UserError(
                f"{str(path)!r} was linked for {_FOREIGN[name]} ({name}), whose ABI is another than {MPICH.soname}'s; "
                "compile it again with `lanai mpicc`"
            )


def needed(path: Path) -> list[str]:
    """The shared libraries that an ELF file names; none for other files."""
    try:
        with path.open("rb") as file:
            dynamic = ELFFile(file).get_section_by_name(".dynamic")
            if not isinstance(dynamic, DynamicSection):
                return []
            tags: list[Any] = [tag for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
            return [tag.needed for tag in tags]
    except (OSError, ELFError):
        return []
