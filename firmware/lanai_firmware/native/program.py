"""Compiling for the host and running there, on a `lang.Machine`'s memory and registers."""

import ctypes
from collections.abc import Mapping
from typing import Any

import llvmlite.binding as llvm

from ..compiler.images import check_recursion, entry_of
from ..compiler.program import Program
from ..image import Site
from ..lang.functions import Function
from ..lang.integers import i32, u32
from ..lang.machine import Machine
from .target import STOPPED, NativeTarget

READ = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32)  # address, bytes
WRITE = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)  # and the value
RUN = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))
STOP = 1 << 32


class Stopped(Exception):
    """Firmware stopped itself; `site` has the place and the cause."""

    def __init__(self, site: Site) -> None:
        super().__init__(str(site))
        self.site = site


class NativeProgram:
    """A firmware function without parameters, with all it calls, as host code.

    `speed` 1 compiles faster and runs slower than 2.
    `placed` puts globals where an image has them; others follow from the start of the data.
    `symbols` has all places.
    """

    def __init__(self, firmware: Any, placed: Mapping[str, int] | None = None, speed: int = 2) -> None:
        self.entry: Function = entry_of(firmware)
        program = Program([self.entry], target_class=NativeTarget)
        target = program.target
        assert isinstance(target, NativeTarget)
        target.place_globals(placed or {})
        program.lower()
        check_recursion(program)
        self.result = self.entry.signature[1]
        target.wrap(program.functions[program.symbol(self.entry)], self.result)
        self.symbols = dict(target.placed)
        self.sites = program.sites
        self.engine = compile_here(program, speed)

    def run(self, machine: Machine) -> Any:
        """Call the entry on this machine. Raises `Stopped`, or what the machine or its registers
        raised."""
        if len(machine.sram) != 1 << 20:
            raise ValueError(f"native firmware runs in 1 MiB of SRAM, not {len(machine.sram):#x} bytes")
        raised: list[BaseException] = []

        def read(address: int, size: int) -> int:
            try:
                return int(machine.load(address, size))
            except BaseException as error:
                raised.append(error)
                return STOP

        def write(address: int, size: int, value: int) -> int:
            try:
                machine.store(address, size, value)
            except BaseException as error:
                raised.append(error)
                return STOP
            return 0

        callbacks = (READ(read), WRITE(write))
        memory = (ctypes.c_char * len(machine.sram)).from_buffer(machine.sram)
        self.set_pointer("__sram", ctypes.addressof(memory))
        self.set_pointer("__read", ctypes.cast(callbacks[0], ctypes.c_void_p).value)
        self.set_pointer("__write", ctypes.cast(callbacks[1], ctypes.c_void_p).value)
        ctypes.c_uint32.from_address(self.engine.get_global_value_address("__stack")).value = machine.stack
        result = ctypes.c_uint32()
        why = RUN(self.engine.get_function_address("__run"))(ctypes.byref(result))
        if raised:
            raise raised[0]
        if why not in (0, STOPPED):
            site = self.sites[why]
            raise Stopped(Site(site.file, site.line, site.function, site.reason))
        return self.python_result(result.value)

    def set_pointer(self, name: str, value: int | None) -> None:
        ctypes.c_void_p.from_address(self.engine.get_global_value_address(name)).value = value

    def python_result(self, word: int) -> Any:
        if self.result is None:
            return None
        if self.result is bool:
            return bool(word)
        return i32(word) if self.result is i32 else u32(word)


def compile_here(program: Program, speed: int) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=speed)
    program.module.triple = llvm.get_default_triple()
    program.module.data_layout = str(machine.target_data)
    module = llvm.parse_assembly(str(program.module))
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=speed))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
