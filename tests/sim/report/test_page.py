"""The HTML page: whole in itself, and alive in a browser."""

import json
import re
import shutil
from pathlib import Path

import pytest

from lanai_hdl.errors import UserError
from lanai_sim.report.activity import Activity
from lanai_sim.report.messages import MessageBook
from lanai_sim.report.page import page, write_page
from lanai_sim.report.ranks import rank_sums
from lanai_sim.report.thinning import Thinned, thin

from .sample import sample


def sample_page() -> str:
    trace = sample()
    activity = Activity(trace)
    return page(trace, rank_sums(activity), list(MessageBook(activity).all()))


def test_page_needs_nothing_from_outside() -> None:
    text = sample_page()
    links = re.findall(r"""(?:src|href)=["']|url\(|@import|https?://[^"' ]+""", text)
    assert set(links) <= {"http://www.w3.org/2000/svg"}
    assert "{{" not in text


def test_page_holds_the_sums() -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', sample_page(), re.DOTALL)
    assert found
    data = json.loads(found[1])
    assert [sum(rank["split"].values()) for rank in data["ranks"]] == [1_000_000, 1_000_000]
    (message,) = data["messages"]
    assert (message["begin"], message["end"], message["pieces"][0]) == (
        100_000,
        880_000,
        ["host", "call", 100_000, 200_000],
    )
    assert data["tracks"][0] == "rank 0 · MPI"


@pytest.mark.parametrize("name", ["</script>", "<!--<script"])
def test_a_program_name_cannot_end_the_script_or_make_it_go_on(name: str) -> None:
    """After `<!--<script` a browser takes the end of the script for text."""
    trace = sample()
    trace.meta["command"] = ["</script><b>"]
    trace.names[0] = name
    activity = Activity(trace)
    text = page(trace, rank_sums(activity), list(MessageBook(activity).all()))
    assert text.count("</script>") == text.count("<script") == 2
    assert "<!--" not in text
    assert "<b>" not in text


def test_unwritable_page_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no_such"):
        write_page(tmp_path / "no_such" / "page.html", sample(), [], [])


@pytest.mark.slow
def test_page_in_a_browser(tmp_path: Path) -> None:
    """Zoom, point and click in headless Chromium; nothing is fetched and nothing fails."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    path = tmp_path / "page.html"
    path.write_text(sample_page(), encoding="utf-8")
    troubles: list[str] = []
    with playwright.sync_playwright() as session:
        chromium = session.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        tab = chromium.new_page(viewport={"width": 1200, "height": 900})
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("console", lambda line: troubles.append(line.text) if line.type == "error" else None)
        tab.on("request", lambda request: troubles.append(request.url) if not request.url.startswith("file:") else None)
        tab.goto(path.as_uri())
        tab.wait_for_selector("body[data-ready=yes]")
        assert tab.locator("#ranks .row").count() == 2
        tab.locator("#messages tbody tr").first.click()
        assert "4 bytes from rank 0 to rank 1" in tab.locator("#chosen").inner_text()
        assert tab.locator("#message tbody tr").count() == 11
        before = tab.evaluate("timeline.end - timeline.begin")
        tab.locator("#timeline").hover(position={"x": 600, "y": 30})
        tab.mouse.wheel(0, -400)
        tab.wait_for_function(f"timeline.end - timeline.begin < {before}")
        tab.locator("#whole").click()
        assert tab.evaluate("timeline.end - timeline.begin") == 1_000_000
        tab.locator("#timeline").hover(position={"x": 400, "y": 30})
        assert "MPI_Send" in tab.locator("#tip").inner_text()
        tab.locator("#calls th", has_text="count").click()
        tab.screenshot(path=str(tmp_path / "page.png"), full_page=True)
        chromium.close()
    assert troubles == []
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_a_command_that_looks_like_the_template_stays_text() -> None:
    trace = sample()
    trace.meta["command"] = ["./a", "{{flame}}", "{{data}}", "{{nothing}}"]
    ranks, messages = rank_sums(Activity(trace)), list(MessageBook(Activity(trace)).all())
    assert "./a {{flame}} {{data}} {{nothing}}" in page(trace, ranks, messages)


def test_a_long_timeline_keeps_every_track_and_the_whole_time() -> None:
    """Ranks come first: cut by number, the links would have vanished."""
    slices = [[0, 10 * n, 10 * n + 5 + n % 3, "x", -1] for n in range(9000)] + [
        [1, 50, 60, "y", 3],
        [2, 0, 90_000, "z", -1],
    ]
    made = thin(slices, ["rank 0", "NIC 0", "link"], 1000)
    assert 700 < len(made.slices) <= 1000
    assert {one[0] for one in made.slices} == {0, 1, 2}
    times = [one[1] for one in made.slices if one[0] == 0]
    assert times == sorted(times)
    assert times[0] < 100
    assert times[-1] > 89_000
    assert all(one[2] - one[1] == 7 for one in made.slices if one[0] == 0)  # the longest ones
    (lost,) = made.lost
    assert lost.startswith(
        f"{9000 - len(times):,} of 9,000 slices of rank 0 on this page's timeline: it shows the longest of every 0.000"
    )


def test_a_short_timeline_is_whole() -> None:
    slices = [[0, 0, 1, "x", -1], [1, 0, 1, "y", -1]]
    assert thin(slices, ["a", "b"], 2) == Thinned(slices, [])
