"""Object files of LLVM's Lanai backend, read with pyelftools into plain data."""

import io
from dataclasses import dataclass, field

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from lanai_hdl.errors import UserError
from lanai_hdl.isa.relocations import EM_LANAI, Relocation

SHF_WRITE, SHF_ALLOC, SHF_EXEC = 1, 2, 4


@dataclass(frozen=True)
class Reloc:
    offset: int
    kind: Relocation
    symbol: int
    addend: int


@dataclass
class Section:
    name: str
    flags: int
    align: int
    size: int
    data: bytes  # empty if it has no bits in the file
    relocations: list[Reloc] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return len(self.data) < self.size


@dataclass(frozen=True)
class ObjectSymbol:
    name: str
    value: int
    size: int
    section: int | None  # None: defined elsewhere
    is_global: bool
    kind: str


@dataclass
class ObjectFile:
    sections: dict[int, Section]
    symbols: list[ObjectSymbol]

    @property
    def defined(self) -> set[str]:
        return {symbol.name for symbol in self.symbols if symbol.is_global and symbol.section is not None}

    @property
    def undefined(self) -> set[str]:
        return {symbol.name for symbol in self.symbols if symbol.name and symbol.is_global and symbol.section is None}


def read_object(data: bytes) -> ObjectFile:
    """The sections, symbols and relocations of a big-endian 32-bit Lanai object."""
    elf = ELFFile(io.BytesIO(data))
    if elf.header["e_machine"] not in (EM_LANAI, "EM_LANAI") or elf.little_endian or elf.elfclass != 32:
        raise UserError(f"object of machine {elf.header['e_machine']!r}: not a big-endian 32-bit Lanai object")
    sections: dict[int, Section] = {}
    symbols: list[ObjectSymbol] = []
    for index, section in enumerate(elf.iter_sections()):
        kind = section["sh_type"]
        if kind in ("SHT_PROGBITS", "SHT_NOBITS"):
            bits = b"" if kind == "SHT_NOBITS" else section.data()
            sections[index] = Section(
                section.name, section["sh_flags"], max(1, section["sh_addralign"]), section["sh_size"], bits
            )
        elif isinstance(section, SymbolTableSection):
            symbols = [
                ObjectSymbol(
                    symbol.name,
                    symbol["st_value"],
                    symbol["st_size"],
                    None if symbol["st_shndx"] in ("SHN_UNDEF", "SHN_ABS") else symbol["st_shndx"],
                    symbol["st_info"]["bind"] != "STB_LOCAL",
                    symbol["st_info"]["type"],
                )
                for symbol in section.iter_symbols()
            ]
    for section in elf.iter_sections():
        if isinstance(section, RelocationSection):
            sections[section["sh_info"]].relocations = [
                Reloc(
                    entry["r_offset"],
                    Relocation(entry["r_info_type"]),
                    entry["r_info_sym"],
                    entry["r_addend"],
                )
                for entry in section.iter_relocations()
            ]
    return ObjectFile(sections, symbols)
