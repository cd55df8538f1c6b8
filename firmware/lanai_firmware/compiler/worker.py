"""The process in which LLVM runs: `python -m lanai_firmware.compiler.worker OPTION...`.

A separate process, since LLVM takes options once a process, and since a failed assertion in its
Lanai backend ends one: code is emitted in children of it. It answers requests until its input ends.
A message is its length (4 bytes, big-endian) and that much JSON.
"""

import base64
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import IO, Any

import llvmlite.binding as llvm

ALLOCA = re.compile(r"alloca (?:\[(\d+) x i8\]|i(\d+)|ptr).*?(?:align (\d+))?$")


def read_message(stream: IO[bytes]) -> Any:
    head = stream.read(4)
    if len(head) < 4:
        return None
    size = int.from_bytes(head, "big")
    body = stream.read(size)
    return json.loads(body) if len(body) == size else None


def write_message(stream: IO[bytes], message: Any) -> None:
    body = json.dumps(message).encode()
    stream.write(len(body).to_bytes(4, "big") + body)
    stream.flush()


class Backend:
    """LLVM set up for the Lanai with the options of this process."""

    def __init__(self, options: list[str]) -> None:
        for option in options:
            llvm.set_option("openlanai", option)
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple("lanai-unknown-unknown")
        # Code model "small": globals are one instruction away. The wheel's default would be two.
        self.machine = target.create_target_machine(opt=2, reloc="static", codemodel="small")

    def optimize(self, text: str, speed: int) -> Any:
        module = llvm.parse_assembly(text)
        module.verify()
        tuning = llvm.create_pipeline_tuning_options(speed_level=speed)
        tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = False
        builder = llvm.create_pass_builder(self.machine, tuning)
        builder.getModulePassManager().run(module, builder)
        return module

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Objects for a module. Functions that LLVM aborts on are tried again with the `retry`
        options; those that even so have no code come back as `hopeless`."""
        try:
            module = self.optimize(request["ir"], request["speed"])
        except RuntimeError as error:
            return {"error": str(error)}
        functions = [function.name for function in module.functions if not function.is_declaration]
        variables = [variable.name for variable in module.global_variables if not variable.is_declaration]
        reply: dict[str, Any] = {"locals": local_bytes(module), "unreduced": [], "hopeless": []}
        if request.get("assembly"):
            reply["assembly"] = self.machine.emit_assembly(module)
        whole = self.emit(module, None)
        if whole is not None:
            return {**reply, "objects": [whole]}
        blamed = self.blame(module, functions)
        apart = self.emit(module, set(blamed), request["retry"])
        rest = self.emit(module, {*functions, *variables} - set(blamed))
        if apart is None or rest is None:
            hopeless = [name for name in blamed if self.emit(module, {name}, request["retry"]) is None]
            return {**reply, "hopeless": hopeless or blamed}
        return {**reply, "objects": [rest, apart], "unreduced": blamed}

    def blame(self, module: Any, functions: list[str]) -> list[str]:
        """Return those of `functions` that LLVM aborts on, by halving."""
        if self.emit(module, set(functions)) is not None:
            return []
        if len(functions) == 1:
            return functions
        middle = len(functions) // 2
        return self.blame(module, functions[:middle]) + self.blame(module, functions[middle:])

    def emit(self, module: Any, kept: set[str] | None, options: Sequence[str] = ()) -> str | None:
        """The object, or None if LLVM aborts. Done in a child, so that an abort and `options` stay
        there."""
        outlet, inlet = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(2)
            for option in options:
                llvm.set_option("openlanai", option)
            if kept is not None:
                keep_only(module, kept)
            with os.fdopen(inlet, "wb") as stream:
                stream.write(self.machine.emit_object(module))
            os._exit(0)
        os.close(inlet)
        with os.fdopen(outlet, "rb") as stream:
            data = stream.read()
        survived = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return base64.b64encode(data).decode() if survived else None


def keep_only(module: Any, kept: set[str]) -> None:
    """Emit these functions and globals only; the others are expected in another object, which sees
    everything."""
    for item in [*module.functions, *module.global_variables]:
        if not item.is_declaration:
            item.linkage = "external" if item.name in kept else "available_externally"


def local_bytes(module: Any) -> dict[str, int]:
    """Bytes of stack slots that each function still has after optimization."""
    found: dict[str, int] = {}
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.opcode == "alloca":
                    size = ALLOCA.search(str(instruction).split(", !dbg")[0])
                    found[function.name] = found.get(function.name, 0) + int((size and size[1]) or 4)
    return found


def main() -> int:
    backend = Backend(sys.argv[1:])
    inlet, outlet = sys.stdin.buffer, sys.stdout.buffer
    while (request := read_message(inlet)) is not None:
        write_message(outlet, backend.answer(request))
    return 0


if __name__ == "__main__":
    sys.exit(main())
