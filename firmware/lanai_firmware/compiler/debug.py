"""Line information: what LLVM needs to write a DWARF line table. Paths are those of modules, the
same on every machine."""

from typing import Any

from llvmlite import ir

from .lowering.words import WORD
from .source import Source, stable_path


class DebugInfo:
    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self.files: dict[str, Any] = {}
        self.locations: dict[tuple[int, int], Any] = {}
        main = self.file("firmware")
        self.unit = module.add_debug_info(
            "DICompileUnit",
            {
                "language": ir.DIToken("DW_LANG_Python"),
                "file": main,
                "producer": "openlanai",
                "isOptimized": True,
                "runtimeVersion": 0,
                "emissionKind": ir.DIToken("LineTablesOnly"),
            },
            is_distinct=True,
        )
        self.type = module.add_debug_info("DISubroutineType", {"types": module.add_metadata([])})
        module.add_named_metadata("llvm.dbg.cu", self.unit)
        for name, number in (("Debug Info Version", 3), ("Dwarf Version", 4)):
            flag = module.add_metadata([ir.Constant(WORD, 2), name, ir.Constant(WORD, number)])
            module.add_named_metadata("llvm.module.flags", flag)

    def file(self, name: str) -> Any:
        if name not in self.files:
            self.files[name] = self.module.add_debug_info("DIFile", {"filename": name, "directory": ""})
        return self.files[name]

    def scope(self, source: Source) -> Any:
        python = source.function.python
        file = self.file(stable_path(python.__module__, source.file))
        return self.module.add_debug_info(
            "DISubprogram",
            {
                "name": source.name,
                "scope": file,
                "file": file,
                "line": source.first_line,
                "type": self.type,
                "unit": self.unit,
                "spFlags": ir.DIToken("DISPFlagDefinition | DISPFlagOptimized"),
            },
            is_distinct=True,
        )

    def location(self, scope: Any, line: int) -> Any:
        key = (id(scope), line)
        if key not in self.locations:
            record = {"line": line, "column": 1, "scope": scope}
            self.locations[key] = self.module.add_debug_info("DILocation", record)
        return self.locations[key]
