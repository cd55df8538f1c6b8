"""A firmware as one object: what others must know to build it, to load it, to configure it and to
read its traces.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.words import Judged

from ..package_images import package_image
from ..vocabulary import Vocabulary

if TYPE_CHECKING:
    from ..image import Image
    from ..lang.functions import Function

PACKAGE = __name__.partition(".")[0]
MAIN = "main"  # the entry point's name
FULL = 2  # the compiler's Effort.FULL: to load an image does not need the compiler


@dataclass(frozen=True)
class Firmware:
    """One program for the NIC's processor.

    Attributes:
        name: as commands spell it; the folder's name with dashes.
        module: the module that holds the entry point, a firmware function `main`. It is imported
            when needed.
        memory: the module that declares the globals that the driver writes or reads. Empty: it
            touches none.
        presets: named choices of its configuration, a frozen dataclass; the first is the default.
            None: nothing can be chosen.
        lay_out: shares out the SRAM behind the image for a configuration; the firmware's package
            says with which arguments. None: the firmware uses no memory but its globals.
        ready: what SCRATCH0 reads once the firmware runs.
        refused: what SCRATCH0 reads if the firmware does not know the plan that the driver left. 0:
            there is no such answer.
        constants: values of the program's constants, by name, with which it is compiled for a configuration, so
            that its image leaves out what the configuration does not use.
        effort: how far the compiler goes for fast code, for a configuration: an `Effort` of the compiler. Without one,
            or without a configuration, as far as it can.
        judges: who judges each field of what a rank or another NIC fills in.
        vocabulary: how traces and waveforms read its packets and its memory. None: they cannot.
    """

    name: str
    module: str
    memory: str = ""
    presets: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    lay_out: Callable[..., Any] | None = None
    ready: int = 0
    refused: int = 0
    constants: Callable[[Any], Mapping[str, int]] | None = None
    effort: Callable[[Any], int] | None = None
    judges: Judged = field(default_factory=dict)
    vocabulary: Vocabulary | None = None

    @property
    def main(self) -> "Function":
        """The entry point."""
        found: Function = getattr(import_module(self.module), MAIN)
        return found

    def default_config(self) -> Any:
        """The first preset's configuration."""
        if not self.presets:
            raise UserError(f"the firmware {self.name!r} has no configuration to choose")
        return next(iter(self.presets.values()))()

    def image(self, nic: NicConfig, config: Any = None, sizes: Mapping[str, int] | None = None) -> "Image":
        """The program, compiled for such NICs and for a configuration, the default one if it is None. `sizes`: values
        of constants that give its tables room for more nodes. The toolchain is needed to build, not to load."""
        chosen = self.constants(config or self.default_config()) if self.constants else {}
        constants = {**chosen, **(sizes or {})}
        effort = FULL if config is None or self.effort is None else self.effort(config)
        if not self.module.startswith(f"{PACKAGE}."):
            return self._compiled(nic, constants, effort)
        return package_image(
            f"{self.module}.{MAIN}",
            nic.sram_size,
            lambda: self._compiled(nic, constants, effort, use_cache=False),
            (repr(constants) if constants else "") + ("" if effort == FULL else f"effort {effort}"),
        )

    def _compiled(self, nic: NicConfig, constants: Mapping[str, int], effort: int, use_cache: bool = True) -> "Image":
        from ..compiler import Effort, build

        return build(self.main, nic, use_cache=use_cache, constants=constants, effort=Effort(effort))

    def words(self, nic: NicConfig) -> list[int]:
        """The image as the first words of the SRAM, for memory that is preloaded."""
        data = self.image(nic).sram()
        data += bytes(-len(data) % 4)
        return [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]

    def symbol(self, name: str) -> str:
        """The symbol of one of the globals in `memory`, as images have it."""
        return f"{self.memory}.{name}"
