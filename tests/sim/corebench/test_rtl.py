"""`lanai bench core`, and the figures it must keep."""

import json

import pytest

from lanai_host.errors import UserError
from lanai_sim.cli import main
from lanai_sim.corebench.search import MISSES, Searcher


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "core.json"
    assert main(["bench", "core", "--cycles", "20000", "--json", str(path)]) == 0
    return json.loads(path.read_text())["figures"]


EXACT = (
    "core.list_search_instrs_per_node",
    "core.list_search.same_key",
    "core.slowdown.one_edge_taken",
    "core.slowdown.even_edge_taken",
    "core.slowdown.odd_edge_taken",
    "core.progress.both_edges_taken",
    "core.cycles_per_instruction.free",
)


@pytest.mark.parametrize("name", EXACT)
def test_figures(name, figures, expected):
    expected(name, figures[name])


def test_bounds_of_the_issue(figures):
    assert figures["core.list_search_instrs_per_node"] <= 7
    assert figures["core.slowdown.one_edge_taken"] == 1.5
    assert figures["core.progress.both_edges_taken"] == 0
    assert figures["core.cycles_per_second"] > 0


@pytest.mark.parametrize("name", MISSES)
def test_cost_does_not_depend_on_the_length(name):
    """The search is linear: any two lengths give the same cost a node."""
    searcher = Searcher()
    counts = [searcher.count(MISSES[name], nodes) for nodes in (8, 16, 24, 64)]
    assert counts[1] - counts[0] == counts[2] - counts[1] == (counts[3] - counts[2]) / 5


def test_missing_example(tmp_path):
    with pytest.raises(UserError, match=r"none\.py' is not there"):
        Searcher(tmp_path / "none.py")
