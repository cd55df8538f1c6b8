"""The claims of the papers, as data."""

import pytest

from lanai_host.errors import UserError
from lanai_sim.studies.papers import claims
from lanai_sim.studies.papers.claims import Bound, Kind


def test_all_of_the_thesis_are_there():
    found = claims.load("mpi-np")
    assert len(found) == len({claim.id for claim in found}) == 104
    counts = {kind: sum(claim.kind is kind for claim in found) for kind in Kind}
    assert counts == {Kind.CONSTANT: 30, Kind.FITTED: 1, Kind.PREDICTED: 13, Kind.SHAPE: 35, Kind.CONTEXT: 25}
    assert all(claim.says.endswith(".") and claim.where for claim in found)


def test_published_values_read_well():
    by_id = {claim.id.removeprefix("mpi-np."): claim for claim in claims.load("mpi-np")}
    assert by_id["s4_3.latency_4B"].published == "68 us"
    assert by_id["s3_1.sram"].published == "1,048,576 bytes"
    assert by_id["s3_1.channels"].published == "at most 64"
    assert by_id["s2_1.price_perf_super"].published == "20 to 30 %"
    assert by_id["s2_4_2.fm_api"].published == "3, 5"
    assert by_id["s3_1.in_order"].published == ""
    assert by_id["s3_1.channels"].bound is Bound.MAX


ROW = '[[claim]]\nid = "p.a"\nkind = "shape"\nsays = "It is."\nwhere = "1"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROW + ROW, "'p.a' is there twice"),
        (ROW.replace("shape", "shaep"), "kind 'shaep'; it must be one of constant, fitted, predicted"),
        (ROW.replace("shape", "fitted"), "'p.a' must have rows if it is fitted"),
        (ROW + 'rows = ["p.a"]\n', "'p.a' must have rows if it is fitted, and only then"),
        (ROW.replace("shape", "fitted") + 'rows = ["p.b"]\n', "'p.a' has rows p.b, which are not claims here"),
        (ROW + 'bound = "most"\n', "bound 'most'"),
        (ROW + "vaule = 3\n", "unknown keys vaule"),
        (ROW.replace('where = "1"\n', ""), "lacks where"),
        (ROW.replace("p.a", "q.a"), "must begin with 'p.'"),
        ("[[claim", "x.toml: "),
    ],
)
def test_mistakes_are_told(text, message):
    with pytest.raises(UserError, match=message):
        claims.parse(text, "p", "x.toml")


def test_unknown_paper():
    with pytest.raises(UserError, match=r"'mbfc' is not known; did you mean 'mbcf'\? choose one of .*mpi-np"):
        claims.load("mbfc")


def test_missing_file(tmp_path):
    with pytest.raises(UserError, match="cannot read claims from"):
        claims.read(tmp_path / "none.toml", "p")
