"""The JSON between processes: an object comes back as it was."""

import json
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import pytest

from lanai_host import plain


class Spot(NamedTuple):
    node: int
    process: int


@dataclass(frozen=True)
class Inner:
    sizes: tuple[int, ...]
    name: str | None = None


@dataclass(frozen=True)
class Outer:
    number: int
    spots: tuple[Spot, ...]
    inner: Inner
    rest: Mapping[str, Any]


OUTER = Outer(3, (Spot(1, 2), Spot(3, 4)), Inner((5, 6)), {"list": [1, 2]})


def test_an_object_comes_back_as_it_was():
    back = plain.restored(Outer, json.loads(json.dumps(asdict(OUTER))))
    assert back == OUTER
    assert isinstance(back.spots[0], Spot)
    assert isinstance(back.inner, Inner)
    assert isinstance(back.inner.sizes, tuple)


@pytest.mark.parametrize(("change", "words"), [({"more": 1}, "'more'"), ({"number": None}, "'number'")])
def test_a_field_too_many_or_too_few_is_refused(change, words):
    values = {**asdict(OUTER), **change}
    values = {name: value for name, value in values.items() if value is not None}
    with pytest.raises(TypeError, match=words):
        plain.restored(Outer, values)


def test_the_types_of_a_class_are_looked_up_once(monkeypatch):
    looked_up = []

    def get_type_hints(kind):
        looked_up.append(kind)
        return typing.get_type_hints(kind)

    class Seat(NamedTuple):
        row: int
        name: str | None
        spots: tuple[Spot, ...]

    @dataclass(frozen=True)
    class Hall:
        seats: tuple[Seat, ...]

    monkeypatch.setattr(plain, "get_type_hints", get_type_hints)
    hall = Hall(tuple(Seat(row, None if row % 2 else "aisle", (Spot(row, 0),)) for row in range(100)))
    for _ in range(2):
        assert plain.restored(Hall, json.loads(json.dumps(asdict(hall)))) == hall
    assert sorted(kind.__name__ for kind in looked_up if kind is not Spot) == ["Hall", "Seat"]


def test_a_table_with_an_element_too_few_is_refused():
    values = json.loads(json.dumps(asdict(OUTER)))
    values["spots"][1].pop()
    with pytest.raises(TypeError, match="Expected 2 arguments, got 1"):
        plain.restored(Outer, values)
