"""Groups and info objects: no message is sent for them."""

import pytest

from lanai_host.mpi import Group, Info, MpiError
from lanai_host.mpi.constants import UNDEFINED, Comparison


def test_groups():
    everyone = Group([5, 3, 8, 1], me=8)
    assert (everyone.rank, everyone.size) == (2, 4)
    some = everyone.include([3, 0])
    assert some.members == (1, 5)
    assert some.rank == UNDEFINED
    assert everyone.exclude([3, 0]).members == (3, 8)
    assert some.union(Group([5, 9], 8)).members == (1, 5, 9)
    assert everyone.intersection(some).members == (5, 1)
    assert everyone.difference(some).members == (3, 8)
    assert everyone.include_ranges([(3, 1, -2), (0, 0, 1)]).members == (1, 3, 5)
    assert everyone.exclude_ranges([(0, 3, 3)]).members == (3, 8)
    assert some.translate([0, 1, -1], everyone) == [3, 0, -1]
    assert everyone.translate([1], some) == [UNDEFINED]
    assert everyone.compare(Group([5, 3, 8, 1], 1)) is Comparison.IDENT
    assert everyone.compare(Group([1, 3, 5, 8], 1)) is Comparison.SIMILAR
    assert everyone.compare(some) is Comparison.UNEQUAL


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda group: group.include([4]), "MPI_Group_incl: rank is 4, but the group has 3 processes"),
        (lambda group: group.include([1, 1]), "rank 1 is given more than once"),
        (lambda group: group.exclude_ranges([(0, 2, 0)]), r"MPI_Group_range_excl: the range \(0, 2, 0\) has stride 0"),
        (lambda group: group.include_ranges([(0, 2, -1)]), "never reaches its end"),
    ],
)
def test_bad_groups(call, message):
    with pytest.raises(MpiError, match=message):
        call(Group([0, 1, 2], 0))


def test_info():
    info = Info()
    info.set("b", "1")
    info.set("a", "2")
    info.set("b", "3")
    assert (info.nkeys(), info.nthkey(0), info.get("b"), info.get("c")) == (2, "b", "3", None)
    twin = info.duplicate()
    info.delete("b")
    assert twin.pairs() == [("b", "3"), ("a", "2")]
    with pytest.raises(MpiError, match="MPI_Info_delete: key 'b' is not set"):
        info.delete("b")
    with pytest.raises(MpiError, match="key has 300 bytes"):
        info.set("k" * 300, "")
