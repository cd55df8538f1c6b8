"""Building the library: the front and the bridge compiled, the interface written down. What is compiled knows no place:
a copy of it gets a file beside it that says with which Python it starts."""

import json
import keyword
import platform
import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from lanai_firmware.building import Work

from ..c_module import compile_module
from ..compilers import Language, bind_own_functions, find
from . import generate, guest
from .flavor import BRIDGE, INTERFACE, START, Flavor
from .header import Header, read
from .installed import include_directory

READ, COMPILE = "reading mpi.h", "compiling the library and its bridge to Python"
STEPS = {READ: 1.0, COMPILE: 1.7}
# Both are long lists of short functions, which more optimization makes no faster: -O2 takes twice as long.
_FLAGS = ("-O1", "-w", "-fPIC", "-shared")
# Python text that the front runs at the first MPI call, as a module of its own: the program's variables
# are not touched. It asks that lanai_host can be imported; if not, it looks where that was when the
# library was put in its place.
_BOOT = """
import sys
machinery = sys.modules["_frozen_importlib_external"]
if machinery.EXTENSION_SUFFIXES[0] != {suffix!r}:
    print("lanai: error: the Python of this program is " + sys.version.split()[0] + ", and that of openlanai {python}; "
        "install openlanai in the program's environment, and start it with the lanai from there",
        file=sys.stderr, flush=True)
    __import__("os")._exit(2)
def load(name, path):
    module = type(sys)(name)
    module.__file__ = path
    machinery.SourceFileLoader(name, path).exec_module(module)
    return module
hide = None
with load("lanai_own_imports", {own_imports!r}).OwnImports() as own:
    try:
        import lanai_host
    except ImportError:
        hide = load("lanai_guest", {guest!r}).finder({paths!r}).hide
    from lanai_host.abi.runtime import attach
    attach({flavor!r}, {directory!r}, TABLE, STATE, STARTED, UNWEIGHTED, EMPTY, own, hide)
"""
# What the front puts in when it runs the text.
_FORMS = {
    "TABLE": "int('%p', 16)",
    "STATE": "int('%p', 16)",
    "STARTED": "%d",
    "UNWEIGHTED": "int('%p', 16)",
    "EMPTY": "int('%p', 16)",
}


def build(flavor: Flavor, work: Path) -> None:
    """Fill `work` with what is compiled."""
    with Work(flavor.soname, "this Python", STEPS) as steps:
        steps.step(READ)
        header = read(flavor.header)
        steps.step(COMPILE)
        with ThreadPoolExecutor(max_workers=1) as second:
            bridge = second.submit(_compile_bridge, header, flavor, work)
            _compile_front(generate.front(header, flavor), flavor, work)
            bridge.result()
    (work / INTERFACE).write_text(json.dumps(interface(header, flavor)))


def put(
    flavor: Flavor, compiled: Path, work: Path, directory: Path, interpreter: str, paths: list[str], libpython: str
) -> None:
    """Fill `work`, which becomes `directory`, with a library that starts `interpreter`. `paths`: where that finds our
    packages."""
    for name in (flavor.soname, f"{BRIDGE}.so", INTERFACE):
        shutil.copyfile(compiled / name, work / name)
    for name in flavor.links:
        (work / name).symlink_to(flavor.soname)
    start = [interpreter, libpython, _boot(flavor, directory, paths), ""]
    (work / START).write_bytes("\0".join(start).encode(errors="surrogateescape"))


def _boot(flavor: Flavor, directory: Path, paths: list[str]) -> str:
    boot = _BOOT.format(
        suffix=EXTENSION_SUFFIXES[0],
        python=platform.python_version(),
        own_imports=str(Path(guest.__file__).with_name("own_imports.py")),
        guest=guest.__file__,
        paths=paths,
        flavor=flavor.name,
        directory=str(directory),
    ).replace("%", "%%")
    for name, form in _FORMS.items():
        boot = boot.replace(name, form)
    return f"exec({boot!r}, {{'__name__': {guest.BOOT!r}}})"


def _compile_front(text: str, flavor: Flavor, work: Path) -> None:
    compiler = find(Language.C)
    linked = (f"-Wl,-soname,{flavor.soname}", bind_own_functions(compiler), "-ldl", "-lpthread")
    made = ("-o", str(work / flavor.soname), "-x", "c", "-")
    compiler.run([*_FLAGS, "-I", str(include_directory()), *made, *linked], f"building {flavor.soname}", text)


def _compile_bridge(header: Header, flavor: Flavor, work: Path) -> None:
    declared, text = generate.bridge(header, flavor)
    compile_module(BRIDGE, declared, text, work / f"{BRIDGE}.so", _FLAGS)


def interface(header: Header, flavor: Flavor) -> dict[str, object]:
    """Return the part of the header that the bindings need at run time."""
    _, crossing = generate.table(header, flavor)
    return {
        "constants": header.constants,
        "functions": {
            f.name: [
                flavor.plain_result(f),
                [[_python_name(p.name), p.base, p.pointers, p.const] for p in f.parameters],
            ]
            for f in crossing
        },
    }


def _python_name(name: str) -> str:
    """A parameter's name as the bindings write it."""
    return f"{name}_" if keyword.iskeyword(name) else name
