"""The objects of the tools interface (MPI_T) that do not exist here: events, their sources, enumerations. A call that
names one of them is an error.
"""

from typing import Any

from ..binding import bind
from ..failures import ToolError
from ..tools import begun_already


def _none(call: str, inputs: str, why: str) -> None:
    """Bind MPI_T_`call`, which finds nothing: `why` is the error."""

    def refuse(*values: Any) -> None:
        begun_already()
        raise ToolError(why)

    bind(f"MPI_T_{call}", refuse, inputs, always=True)


_none("enum_get_info", "enumtype num name name_len", "INVALID_HANDLE")
_none("enum_get_item", "enumtype indx value name name_len", "INVALID_HANDLE")
_none("event_get_index", "name event_index", "INVALID_NAME")
_none(
    "event_get_info",
    "event_index name name_len verbosity array_of_datatypes array_of_displacements num_elements enumtype info desc"
    " desc_len bind",
    "INVALID_INDEX",
)
_none("event_handle_alloc", "event_index obj_handle info event_registration", "INVALID_INDEX")
_none("event_handle_free", "event_registration user_data free_cb_function", "INVALID_HANDLE")
_none("event_handle_get_info", "event_registration info_used", "INVALID_HANDLE")
_none("event_handle_set_info", "event_registration info", "INVALID_HANDLE")
_none("event_register_callback", "event_registration cb_safety info user_data event_cb_function", "INVALID_HANDLE")
_none("event_callback_get_info", "event_registration cb_safety info_used", "INVALID_HANDLE")
_none("event_callback_set_info", "event_registration cb_safety info", "INVALID_HANDLE")
_none("event_set_dropped_handler", "event_registration dropped_cb_function", "INVALID_HANDLE")
_none("event_read", "event_instance element_index buffer", "INVALID_HANDLE")
_none("event_copy", "event_instance buffer", "INVALID_HANDLE")
_none("event_get_timestamp", "event_instance event_timestamp", "INVALID_HANDLE")
_none("event_get_source", "event_instance source_index", "INVALID_HANDLE")
_none(
    "source_get_info",
    "source_index name name_len desc desc_len ordering ticks_per_second max_ticks info",
    "INVALID_INDEX",
)
_none("source_get_timestamp", "source_index timestamp", "INVALID_INDEX")
