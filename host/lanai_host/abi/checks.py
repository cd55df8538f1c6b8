"""The checks of a call's arguments, as Python text for its binding, from the table in `arguments`.

One condition decides whether anything may be wrong; it costs some ten nanoseconds an argument. Only
if it holds is each argument looked at.
"""

from collections.abc import Callable
from typing import Any

from ..mpi.errors import MpiError
from .arguments import Prototype, Refusal, Wrong, refusals

Examine = Callable[..., None]


def lines(
    call: str, parameters: Prototype, library_counts: bool, null_status: bool, names: dict[str, Any]
) -> list[str]:
    """Text that raises MpiError for a wrong argument. `null_status`: a null status is
    MPI_STATUS_IGNORE in this ABI."""
    outputs = {p[0] for p in parameters if p[1] == "MPI_Status" and not p[3]} if null_status else set()
    found = [r for r in refusals(call, parameters, library_counts) if r.border and r.argument not in outputs]
    if not found:
        return []
    pointers = [refusal.argument for refusal in found if refusal.wrong is Wrong.NULL]
    conditions = [f"{refusal.argument} < 0" for refusal in found if refusal.wrong is Wrong.NEGATIVE]
    if pointers:
        conditions.append(f"not ({' and '.join(pointers)})")
    names["examine"] = _examiner(call, found, [parameter[0] for parameter in parameters])
    passed = ", ".join(parameter[0] for parameter in parameters)
    return [f"if {' or '.join(conditions)}: examine({passed})"]


def _examiner(call: str, found: list[Refusal], names: list[str]) -> Examine:
    def examine(*arguments: Any) -> None:
        values = dict(zip(names, arguments, strict=True))
        for refusal in found:
            value = values[refusal.argument]
            if refusal.wrong is Wrong.NEGATIVE and value < 0:
                raise MpiError(refusal.error, f"{call}: {refusal.argument} is {value}; it must not be negative")
            if refusal.wrong is Wrong.NULL and not value and values.get(refusal.length, 1) > 0:
                raise MpiError(refusal.error, f"{call}: {refusal.argument} is a null pointer")

    return examine
