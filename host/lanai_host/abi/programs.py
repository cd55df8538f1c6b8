"""The MPI that a program was linked for, read from its file before it is started, and what makes it
find ours."""

import importlib.util
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..errors import UserError
from .bindings import other_names
from .flavor import INTERFACE, MPICH, STANDARD, Flavor
from .library import library_directory

# The dynamic section of an ELF file: the libraries that a program names and where it has them
# searched. Read here without pyelftools, whose import takes a tenth of a warm run.

CLASS_64, LITTLE_ENDIAN = 2, 1  # no other program can load our library
_HEADER = struct.Struct("<4sBB10x16xQ14xHH6x")  # magic, class, byte order; e_phoff, e_phentsize, e_phnum
_SEGMENT = struct.Struct("<I4xQQ8xQ16x")  # p_type, p_offset, p_vaddr, p_filesz
_TAG = struct.Struct("<QQ")  # d_tag, d_val
PT_LOAD, PT_DYNAMIC = 1, 2
DT_STRTAB, DT_STRSZ = 5, 10
NAMES = {1: "DT_NEEDED", 15: "DT_RPATH", 29: "DT_RUNPATH"}

Segment = tuple[int, int, int, int]


class _NotReadable(Exception):
    """The file is damaged, or not an ELF file of that kind."""


def dynamic_names(path: Path) -> dict[str, list[str]]:
    """The names in the dynamic section of a 64-bit little-endian ELF file, by tag; none of a file
    that is anything else, or damaged."""
    try:
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size

            def part(offset: int, size: int) -> bytes:
                file.seek(offset)
                return file.read(min(size, end))

            segments = _segments(part)
            dynamic = [part(offset, size) for kind, offset, _, size in segments if kind == PT_DYNAMIC]
            tags = [tag for section in dynamic for tag in _tags(section)]
            values = dict(tags)
            wanted = [(NAMES[tag], value) for tag, value in tags if tag in NAMES]
            if not wanted:
                return {}
            text = part(_place(segments, values.get(DT_STRTAB, 0)), values.get(DT_STRSZ, 0))
    except (OSError, OverflowError, ValueError, struct.error, _NotReadable):
        return {}
    found: dict[str, list[str]] = {}
    for name, start in wanted:
        found.setdefault(name, []).append(text[start : text.find(b"\0", start)].decode(errors="replace"))
    return found


def _segments(part: Callable[[int, int], bytes]) -> list[Segment]:
    magic, bits, order, offset, size, count = _HEADER.unpack(part(0, _HEADER.size))
    if (magic, bits, order, size) != (b"\x7fELF", CLASS_64, LITTLE_ENDIAN, _SEGMENT.size):
        raise _NotReadable
    return list(_SEGMENT.iter_unpack(part(offset, size * count)))


def _tags(section: bytes) -> Iterator[tuple[int, int]]:
    """Up to the end mark."""
    for tag, value in _TAG.iter_unpack(section[: len(section) // _TAG.size * _TAG.size]):
        if tag == 0:
            return
        yield tag, value


def _place(segments: list[Segment], address: int) -> int:
    """Return the place in the file of the byte at an address."""
    for kind, offset, start, size in segments:
        if kind == PT_LOAD and start <= address < start + size:
            return offset + address - start
    raise _NotReadable


# Libraries whose ABI is not ours, and whose they are.
_FOREIGN = {"libmpi.so.40": "Open MPI", "libmpi.so.20": "Open MPI"}


def check_program(path: Path) -> None:
    """Raise UserError if the program needs an MPI library that cannot be ours. Scripts and other
    files that are not ELF pass."""
    tags = dynamic_names(path)
    libraries = tags.get("DT_NEEDED", [])
    for name in libraries:
        if name in _FOREIGN:
            raise UserError(
                f"{str(path)!r} was linked for {_FOREIGN[name]} ({name}), whose ABI is another than {MPICH.soname}'s; "
                "compile it again with `lanai mpicc`"
            )
    if MPICH.soname in libraries and STANDARD.soname in libraries:
        raise UserError(
            f"{str(path)!r} was linked for two ABIs at once, {MPICH.soname} and {STANDARD.soname}; link it for "
            "one of them"
        )
    for text in tags.get("DT_RPATH", []):  # searched before LD_LIBRARY_PATH, unlike RUNPATH
        _check_rpath(path, text, libraries)


def _check_rpath(path: Path, text: str, libraries: list[str]) -> None:
    for name in libraries:
        if name not in (MPICH.soname, *MPICH.links, STANDARD.soname):
            continue
        for directory in text.replace("$ORIGIN", str(path.resolve().parent)).split(os.pathsep):
            other = Path(directory, name)
            if other.exists() and not (other.parent / INTERFACE).exists():
                raise UserError(
                    f"{str(path)!r} has {directory} in its DT_RPATH, whose {name} it would load whatever lanai says; "
                    "compile it again with `lanai mpicc`"
                )


def needed(path: Path) -> list[str]:
    """The shared libraries that an ELF file names; none for other files."""
    return dynamic_names(path).get("DT_NEEDED", [])


def may_serve(program: Path, environment: Mapping[str, str]) -> bool:
    """Return whether ranks of a compiled program can be forked from one of its processes: it names our
    library, will load ours, and no Python of its own. The C library's heap then puts its buffers elsewhere than
    in a process that was executed."""
    names = needed(program)
    first = environment.get("LD_LIBRARY_PATH", "").partition(os.pathsep)[0]
    ours = any(name in names and Path(first, name).exists() for name in (MPICH.soname, STANDARD.soname))
    python = any(name.startswith("libpython") for name in names)
    return ours and Path(first, INTERFACE).exists() and not python


def flavor_of(program: Path) -> Flavor:
    """The ABI to run a program with: the one that it was linked for; for a Python, the one of its
    mpi4py."""
    if STANDARD.soname in needed(program) or (program.name.startswith("python") and _mpi4py_is_standard()):
        return STANDARD
    return MPICH


def _mpi4py_is_standard() -> bool:
    """mpi4py's wheel holds builds for MPICH and Open MPI; one built for the standard ABI holds that
    alone."""
    try:
        spec = importlib.util.find_spec("mpi4py")
    except ValueError:
        return False
    places = spec.submodule_search_locations if spec is not None else None
    builds = [build for place in places or () for build in Path(place).glob("MPI*.so")]
    return bool(builds) and all(STANDARD.soname in needed(build) for build in builds)


def environment(program: Path) -> dict[str, str]:
    """Return the environment variables with which a program finds our library. They also name the ABI to mpi4py."""
    flavor = flavor_of(program)
    directory = str(library_directory(flavor.name))
    bindings = other_names()
    paths = [directory, *([] if bindings is None else [str(bindings)])]
    paths += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    return {
        "LD_LIBRARY_PATH": os.pathsep.join(paths),
        "MPI4PY_LIBMPI": f"{directory}/{flavor.soname}",
        "MPI4PY_MPIABI": flavor.mpi4py,
    }
