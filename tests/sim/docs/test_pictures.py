"""The pictures of docs are those that docs/pictures.py draws."""

import runpy
from xml.etree import ElementTree

import pytest

from . import pages

SCRIPT = runpy.run_path(str(pages.ROOT / "docs" / "pictures.py"))
DIAGRAMS = ["nic.svg", "message.svg"]
CARDS = [f"card-{name}.svg" for name in ("test", "study", "write", "teach")]
NAMES = [*DIAGRAMS, *CARDS]


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_is_as_the_script_draws_it(name, request):
    path = pages.ROOT / "docs" / "images" / name
    drawn = str(SCRIPT["PICTURES"][name]())
    if request.config.getoption("--refresh-docs"):
        path.write_text(drawn)
    assert path.read_text() == drawn, "run pytest --refresh-docs"


@pytest.mark.parametrize("name", NAMES)
def test_texts_fit_into_the_picture_and_colours_follow_the_reader(name):
    text = (pages.ROOT / "docs" / "images" / name).read_text()
    root = ElementTree.fromstring(text)
    width, height = (int(root.get(side)) for side in ("width", "height"))
    for part in root.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 < float(part.get("x")) < width
        assert 0 < float(part.get("y")) < height
    assert "prefers-color-scheme: dark" in text


def test_each_picture_is_on_a_page():
    assert set(SCRIPT["PICTURES"]) == set(NAMES)
    page = (pages.ROOT / "docs" / "systems" / "index.md").read_text()
    assert all(f"(../images/{name})" in page for name in DIAGRAMS)
    front = (pages.ROOT / "docs" / "index.md").read_text()
    assert [front.count(f":img-bottom: images/{name}\n") for name in CARDS] == [1] * len(CARDS)
