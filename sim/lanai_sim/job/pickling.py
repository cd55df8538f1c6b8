"""Functions as bytes, for another process: also those of a notebook, lambdas and closures."""

import contextlib
import io
import marshal
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from types import CodeType, ModuleType
from typing import Any

import cloudpickle


def pickled(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Return what `pickle.loads` makes `(function, args, kwargs)` of."""
    pickler: Any = _Pickler
    with _by_value(function), io.BytesIO() as buffer:
        pickler(buffer).dump((function, args, kwargs))
        return buffer.getvalue()


def _reduce_code(code: CodeType) -> tuple[Callable[..., Any], tuple[bytes]]:
    return marshal.loads, (marshal.dumps(code),)


class _Pickler(cloudpickle.Pickler):
    """Keeps the files and lines of functions, which tracebacks and reports name."""

    dispatch_table = ChainMap({CodeType: _reduce_code}, cloudpickle.Pickler.dispatch_table)


@contextlib.contextmanager
def _by_value(function: Callable[..., Any]) -> Iterator[None]:
    """Send the function's module along, if a new process would not find it."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if not isinstance(module, ModuleType) or module.__name__ == "__main__" or _is_found(module):
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _is_found(module: ModuleType) -> bool:
    top = module.__name__.partition(".")[0]
    return top in sys.builtin_module_names or PathFinder.find_spec(top) is not None
