"""The choice among the copies of a step: one masked comparison of the state for each case."""

from collections.abc import Mapping, Sequence

from .code import BYTES, container
from .layout import Layout

VECTOR = 32  # bytes that are compared at once


def dispatch(layout: Layout, cases: Sequence[Mapping[str, int]]) -> str:
    """The function `step`: the step of the first case that fits, else `step_any`."""
    blocks = (
        "ptr noalias readonly %state, ptr noalias readonly %in, ptr noalias %out, ptr noalias %next, ptr noalias %store"
    )
    arguments = "ptr %state, ptr %in, ptr %out, ptr %next, ptr %store"
    lines = [f"define void @step({blocks}) {{", "  br label %try0"]
    for number, values in enumerate(cases):
        lines += [f"try{number}:", *_guard(layout, values, f"g{number}_")]
        lines += [f"  br i1 %g{number}_fits, label %do{number}, label %try{number + 1}", f"do{number}:"]
        lines += [f"  tail call void @step_case{number}({arguments})", "  ret void"]
    lines += [f"try{len(cases)}:", f"  tail call void @step_any({arguments})", "  ret void", "}"]
    return "\n".join([*lines, "declare i64 @llvm.vector.reduce.or.v4i64(<4 x i64>)", ""])


def _guard(layout: Layout, values: Mapping[str, int], prefix: str) -> list[str]:
    mask, wanted = bytearray(layout.state.size), bytearray(layout.state.size)
    for name, value in values.items():
        at, width = layout.state.places[name]
        size = container(width) // BYTES
        mask[at : at + size] = b"\xff" * size
        wanted[at : at + size] = value.to_bytes(size, "little")
    lines, last = [], ""
    for at in range(0, layout.state.size, VECTOR):
        if not any(mask[at : at + VECTOR]):
            continue
        here = f"%{prefix}{at}"
        lines += [
            f"  {here}p = getelementptr i8, ptr %state, i64 {at}",
            f"  {here}l = load <4 x i64>, ptr {here}p, align 8",
            f"  {here}m = and <4 x i64> {here}l, {_vector(mask[at : at + VECTOR])}",
            f"  {here}x = xor <4 x i64> {here}m, {_vector(wanted[at : at + VECTOR])}",
        ]
        if last:
            lines.append(f"  {here}o = or <4 x i64> {last}, {here}x")
        last = f"{here}o" if last else f"{here}x"
    lines.append(f"  %{prefix}all = call i64 @llvm.vector.reduce.or.v4i64(<4 x i64> {last})")
    return [*lines, f"  %{prefix}fits = icmp eq i64 %{prefix}all, 0"]


def _vector(part: bytes | bytearray) -> str:
    words = (int.from_bytes(part[at : at + 8], "little") for at in range(0, VECTOR, 8))
    return f"<{', '.join(f'i64 {word}' for word in words)}>"
