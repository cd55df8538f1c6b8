"""Times and counts as people write and read them."""

from decimal import Decimal, InvalidOperation

from lanai_hdl.errors import UserError

UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
LONGEST = 10**21  # picoseconds


def format_time(picoseconds: int) -> str:
    """12_345_678 -> '12.346 us'."""
    for unit, size in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if picoseconds >= size:
            return f"{picoseconds / size:.3f} {unit}"
    return f"{picoseconds} ps"


def counted(number: int, what: str) -> str:
    """(1, "rank") -> '1 rank'; (4096, "rank") -> '4,096 ranks'; (2, "entry") -> '2 entries'."""
    many = f"{what.removesuffix('y')}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else many}"


def exact_time(picoseconds: int) -> str:
    """12_345_000 -> '12345ns', which `duration` reads again."""
    unit, size = max((one for one in UNITS.items() if picoseconds % one[1] == 0), key=lambda one: one[1])
    return f"{picoseconds // size}{unit}"


def duration(text: str) -> int:
    """'20ms' -> picoseconds."""
    for unit, size in UNITS.items():  # "s" comes last, so that it does not take the others' end
        number = text.removesuffix(unit)
        if number != text:
            try:
                value = Decimal(number) * size
            except InvalidOperation:
                break
            if value.is_finite() and 0 <= value < LONGEST:
                return int(value)
    raise UserError(f"{text!r} is not a time; write a number and a unit, such as 500us, 20ms or 1s")
