"""No circle among the modules' imports: what a module needs can be read before it, and it can be
tested without what uses it."""

import grimp
import pytest

PACKAGES = ("lanai_hdl", "lanai_firmware", "lanai_host", "lanai_sim", "openlanai")
# Modules that name each other in type annotations only. Nothing may be added; what no longer is a
# circle is to be removed.
ALLOWED = [
    {"lanai_hdl.block_config", "lanai_hdl.config"},
]


def imports(**options):
    """{module: the modules that it imports}, those imported inside functions too."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None, **options)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circles(graph):
    """The largest sets of modules in which each imports every other one, directly or through
    others."""
    reached = {module: reachable(graph, module) for module in graph}
    return {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in graph
        if module in reached[module]
    }


def reachable(graph, start):
    found, waiting = set(), [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, {frozenset("abc")}),
        ({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}}, {frozenset("ab"), frozenset("cd")}),
    ],
)
def test_circles_are_found(graph, expected):
    assert circles(graph) == expected


def test_there_is_no_circle_at_run_time():
    assert not circles(imports(exclude_type_checking_imports=True))


def test_there_is_none_for_types_but_the_known_ones():
    new = [sorted(found) for found in circles(imports()) if not any(found <= allowed for allowed in ALLOWED)]
    assert not new
