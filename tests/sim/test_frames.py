"""Tables as frames: pandas or polars, and what is said if neither is there."""

import sys

import pandas
import polars
import pytest

from lanai_host.errors import UserError
from lanai_sim import frames

COLUMNS = {"rank": [0, 1], "end_us": [1.5, 2.5]}


def test_either_library():
    assert isinstance(frames.frame(COLUMNS, "polars"), polars.DataFrame)
    assert isinstance(frames.frame(COLUMNS, "pandas"), pandas.DataFrame)
    assert frames.frame(COLUMNS, "polars").to_dict(as_series=False) == COLUMNS
    assert frames.frame(COLUMNS, "pandas").to_dict(orient="list") == COLUMNS


def test_the_one_that_is_installed_is_taken(monkeypatch):
    assert isinstance(frames.frame(COLUMNS), pandas.DataFrame)
    monkeypatch.setattr(frames, "find_spec", lambda name: True if name == "polars" else None)
    assert isinstance(frames.frame(COLUMNS), polars.DataFrame)


def test_none_is_installed(monkeypatch):
    for name in frames.LIBRARIES:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=r"frames need pandas or polars .*; pip install 'openlanai\[frames\]'"):
        frames.frame(COLUMNS)
    with pytest.raises(UserError, match=r"frames need polars .*; pip install 'polars'"):
        frames.frame(COLUMNS, "polars")


def test_another_library():
    with pytest.raises(UserError, match="library 'panda' is not known; did you mean 'pandas'"):
        frames.frame(COLUMNS, "panda")


def test_rows():
    rows = [{"rank": 0, "end_us": 1.5}, {"rank": 1, "end_us": 2.5}]
    assert frames.of_rows(rows, "pandas").to_dict(orient="list") == COLUMNS
    assert len(frames.of_rows([], "polars")) == 0
