"""Images of this package's own firmware, by the digest of its sources: found in the cache without
the compiler, whose import takes a third of a second."""

import functools
import re
from collections.abc import Callable
from pathlib import Path

import llvmlite  # its version alone

import lanai_hdl
from lanai_hdl.errors import UserError

from . import cache
from .building import Work
from .image import Image

COMPILE = "compiling it"
OLDEST = (0, 47)  # llvmlite that can compile firmware and models; pyproject.toml has it too


def package_image(label: str, sram_size: int, make: Callable[[], Image], options: str = "") -> Image:
    """The image of a function of this package, `module.name`, which `make` compiles if it is not
    in the cache. `options`: what else decides it."""
    made_of = cache.key_of((label, str(sram_size), package_digest(), options))
    key = cache.Key(made_of, lambda: (llvm_version(),))

    def compiled() -> bytes:
        with Work("the NICs' firmware", "its sources", {COMPILE: 3.0}) as work:
            work.step(COMPILE)
            return make().to_bytes()

    return Image.from_bytes(cache.build(key, "image", compiled), f"the cached image of {label}")


def llvm_version() -> str:
    """Return the version of llvmlite. Raises UserError if it is too old to compile with."""
    found = str(llvmlite.__version__)
    if tuple(map(int, re.findall("[0-9]+", found)[:2])) < OLDEST:
        least = ".".join(map(str, OLDEST))
        raise UserError(
            f"llvmlite {found} is too old to compile with; write: pip install --upgrade 'llvmlite>={least}'"
        )
    return found


@functools.cache
def package_digest() -> str:
    """Changes with any source of this package and of the packages below, which is all that its
    firmware is made of."""
    roots = [Path(__file__).parent, Path(lanai_hdl.__file__).parent]
    files = [path for root in roots for path in sorted(root.rglob("*.py"))]
    return cache.key_of(part for path in files for part in (str(path.name), path.read_bytes()))
