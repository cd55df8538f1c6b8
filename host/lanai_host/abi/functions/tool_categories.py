"""Categories of the variables of the tools interface (MPI_T), and how many events it has: none."""

from collections.abc import Callable
from typing import Any

from ...mpi.variables import Variable
from ..context import Phase, abi
from ..failures import ToolError
from ..tools import at, control, performance, put, put_text, tool

CONTROL, PERFORMANCE = 0, 1  # the categories, in this order
_CATEGORIES = (
    ("control", "what the host's own work costs in simulated time"),
    ("performance", "simulated time, and what the NIC counts"),
)


@tool("category_get_num")
def _category_get_num(num_cat: Any) -> None:
    put(num_cat, len(_CATEGORIES))


@tool("category_get_info")
def _category_get_info(
    cat_index: int,
    name: Any,
    name_len: Any,
    desc: Any,
    desc_len: Any,
    num_cvars: Any,
    num_pvars: Any,
    num_categories: Any,
) -> None:
    title, text = at(_CATEGORIES, cat_index)
    put_text(name, name_len, title)
    put_text(desc, desc_len, text)
    put(num_cvars, len(control()) if cat_index == CONTROL else 0)
    put(num_pvars, len(performance()) if cat_index == PERFORMANCE else 0)
    put(num_categories, 0)


@tool("category_get_index")
def _category_get_index(name: str, cat_index: Any) -> None:
    names = [title for title, _ in _CATEGORIES]
    if name not in names:
        raise ToolError("INVALID_NAME")
    put(cat_index, names.index(name))


def _members(name: str, category: int, found: Callable[[], list[Variable]]) -> None:
    @tool(name)
    def call(cat_index: int, len: int, indices: Any) -> None:
        at(_CATEGORIES, cat_index)
        held = found() if cat_index == category else []
        for index, _ in zip(range(len), held, strict=False):
            indices[index] = index


_members("category_get_cvars", CONTROL, control)
_members("category_get_pvars", PERFORMANCE, performance)
_members("category_get_categories", -1, list)
_members("category_get_events", -1, list)


@tool("category_get_num_events")
def _category_get_num_events(cat_index: int, num_events: Any) -> None:
    at(_CATEGORIES, cat_index)
    put(num_events, 0)


@tool("category_changed")
def _category_changed(update_number: Any) -> None:
    """Variables come with MPI_Init."""
    put(update_number, int(abi.phase is not Phase.BEFORE))


@tool("event_get_num")
def _event_get_num(num_events: Any) -> None:
    put(num_events, 0)


@tool("source_get_num")
def _source_get_num(num_sources: Any) -> None:
    put(num_sources, 0)
