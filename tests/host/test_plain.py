"""The JSON between processes: an object comes back as it was."""

import json
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
