"""The compiler: firmware functions to LLVM IR, IR to Lanai objects, objects to an image; or IR to
the host's own code.

`build` makes an image. `Program` is the IR alone. Everything a user can get wrong ends in a
`CompileError` that reads `file:line:col: what is not allowed; what to write instead`.
"""

from .images import build, entry_of, lower
from .program import Program
from .source import CompileError, load_module
from .targets import Effort, Guards

__all__ = ["CompileError", "Effort", "Guards", "Program", "build", "entry_of", "load_module", "lower"]
