"""Firmware source to image, cached by content."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.errors import UserError

from .. import cache
from ..image import Image, SourceSpan, Symbol
from ..lang.functions import Function
from ..lang.types import ArrayType, constants_set, is_struct, layout, name_of
from ..link.lines import line_rows
from ..link.linker import Linked, link
from ..link.objects import ObjectFile, read_object
from ..link.stack import stack_bound
from ..package_images import llvm_version, package_image
from ..runtime.library import LIBRARY
from .backend import Emitted, emit, options_of
from .program import Program
from .source import CompileError, label_of, load_module, stable_path
from .targets import Effort, Guards

ENTRY = "main"
OURS = __name__.split(".")[0]
DEFAULT_GUARDS = Guards()


def build(
    firmware: str | Path | Function,
    config: NicConfig | None = None,
    guards: Guards = DEFAULT_GUARDS,
    use_cache: bool = True,
    constants: Mapping[str, int] | None = None,
    effort: Effort = Effort.FULL,
) -> Image:
    """The image of a firmware file (its function `main`) or of a firmware function without
    parameters. `constants` are values of its modules' constants other than those in the source, by name. `effort`
    says how far the compiler goes for fast code.

    The same IR for the same SRAM size is built once and kept in the cache. For firmware of this
    package the sources of the package and of the packages below decide, which saves making the IR.
    """
    entry = entry_of(firmware)
    sram_size = (config or lanai41()).sram_size
    if use_cache and entry.python.__module__.startswith(f"{OURS}."):
        usual = guards == DEFAULT_GUARDS and not constants and effort is Effort.FULL
        return package_image(
            label_of(entry.python),
            sram_size,
            lambda: build(entry, config, guards, False, constants, effort),
            "" if usual else repr((guards, constants, effort)),
        )
    with constants_set(constants or {}):
        return _build(entry, sram_size, guards, use_cache, constants, effort)


def _build(
    entry: Function,
    sram_size: int,
    guards: Guards,
    use_cache: bool,
    constants: Mapping[str, int] | None,
    effort: Effort,
) -> Image:
    program = lower(entry, guards, constants, effort)
    text = str(program.module)
    if not use_cache:
        return assemble(program, entry, text, sram_size)
    parts = (text, str(sram_size), tool_digest(), llvm_version(), *options_of(guards), repr(guards))
    key = cache.key_of((*parts, *(f"{span}" for span in spans_of(program))))
    data = cache.build(key, "image", lambda: assemble(program, entry, text, sram_size).to_bytes())
    return Image.from_bytes(data, f"cached image {str(cache.place('image', key))!r}")


def entry_of(firmware: str | Path | Function) -> Function:
    if isinstance(firmware, Function):
        entry = firmware
    else:
        module = load_module(firmware)
        found = getattr(module, ENTRY, None)
        if not isinstance(found, Function):
            raise UserError(f"{str(firmware)!r} has no @firmware function {ENTRY}(); the image starts there")
        entry = found
    kinds, _ = entry.signature
    if kinds:
        raise UserError(f"{entry.python.__name__} takes {len(kinds)} arguments; where firmware starts it takes none")
    return entry


def lower(
    entry: Function,
    guards: Guards = DEFAULT_GUARDS,
    constants: Mapping[str, int] | None = None,
    effort: Effort = Effort.FULL,
) -> Program:
    program = Program([entry], guards=guards, constants=constants or {}, effort=effort)
    program.lower()
    check_recursion(program)
    return program


def check_recursion(program: Program) -> None:
    for group in program.recursion():
        for name in group:
            source = program.sources[name]
            if source.function.depth <= 1:
                circle = " > ".join([*group, group[0]])
                source.fail(
                    source.tree,
                    f"{source.tree.name} calls itself ({circle}) and the stack is bounded; "
                    "declare how deep: @firmware(depth=16), or write a loop",
                )


@functools.cache
def tool_digest() -> str:
    """Changes when the toolchain does: a digest of its own sources."""
    root = Path(__file__).parents[1]
    files = [p for part in ("compiler", "link", "lang", "runtime") for p in sorted((root / part).rglob("*.py"))]
    return cache.key_of(part for p in [*files, root / "image.py"] for part in (p.name, p.read_bytes()))


@functools.cache
def library_member(name: str) -> ObjectFile | None:
    """The object of one of LLVM's library functions, or None if the run-time has no such
    function."""
    function = LIBRARY.get(name)
    if function is None:
        return None
    program = Program([function], names={function: name})
    text = str(program.lower())
    key = cache.key_of((text, tool_digest(), llvm_version(), *options_of(DEFAULT_GUARDS)))
    return read_object(cache.build(key, "object", lambda: emit(text, DEFAULT_GUARDS).objects[0]))


def assemble(program: Program, entry: Function, text: str, sram_size: int) -> Image:
    name = program.symbol(entry)
    try:
        emitted = emit(text, program.guards)
        linked = link([read_object(data) for data in emitted.objects], name, library_member, sram_size)
        depths = {key: source.function.depth for key, source in program.sources.items()}
        bound = stack_bound(linked, name, depths, emitted.locals if program.guards.check_frames else None)
    except UserError as error:
        raise name_functions(program, error) from error
    end = linked.zeroed + linked.zeroed_size
    if end + bound > linked.limit:
        sizes = ", ".join(f"{region} {size}" for region, size in linked.regions.items())
        raise UserError(
            f"the stack needs {bound} bytes and {linked.limit - end} are left of {linked.limit} after {sizes}; "
            "lower a declared depth or make globals smaller"
        )
    return image_of(program, entry, linked, emitted, bound, sram_size)


def name_functions(program: Program, error: UserError) -> UserError:
    """The error with file and line of each function that it names."""
    places = [f"{s.file}:{s.first_line}:1" for name, s in program.sources.items() if name in str(error)]
    return CompileError(f"{places[0]}: {error}") if places else error


def image_of(program: Program, entry: Function, linked: Linked, emitted: Emitted, bound: int, sram_size: int) -> Image:
    kinds = {name: item.kind for name, item in program.globals.items()}
    symbols = {
        p.name: Symbol(p.name, p.address, p.size, "code" if p.code else "data", describe_kind(kinds.get(p.name)))
        for p in sorted(linked.symbols.values(), key=lambda p: (p.address, p.name))
    }
    return Image(
        entry=program.symbol(entry),
        base=linked.base,
        loaded=linked.loaded,
        zeroed=linked.zeroed,
        zeroed_size=linked.zeroed_size,
        regions=linked.regions,
        symbols=symbols,
        lines=tuple(line_rows(linked)),
        spans=tuple(spans_of(program)),
        sites=tuple(program.sites),
        halt=linked.halt,
        stack_bottom=(linked.stack_top - bound) & -8,
        stack_top=linked.stack_top,
        sram_size=sram_size,
        result=name_of(entry.signature[1]),
    )


def spans_of(program: Program) -> Sequence[SourceSpan]:
    return [
        SourceSpan(name, stable_path(s.function.python.__module__, s.file), s.first_line, s.last_line)
        for name, s in program.sources.items()
    ]


def describe_kind(kind: Any) -> str:
    """A global's type in words: `Counters{a: u8 @0, b: u16 @2}`."""
    if kind is None:
        return ""
    element = kind
    while isinstance(element, ArrayType):
        element = element.element
    if not is_struct(element):
        return name_of(kind)
    members = ", ".join(f"{f.name}: {name_of(f.kind)} @{f.offset}" for f in layout(element).fields.values())
    return f"{name_of(kind)} {{{members}}}"
