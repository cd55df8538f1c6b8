"""The page in headless Chromium: it opens in time, fits three widths, zooms, folds, finds and points. Needs
Chromium and `pip install 'openlanai[browser]'`."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lanai_sim.cli import main

from .sample import sample
from .test_page import page_of

PROGRAM = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
me, ranks = comm.rank, comm.size
for size in (0, 4, 256, 2048, 9000):
    out, came = np.zeros(size, "u1"), np.zeros(size, "u1")
    comm.Sendrecv(out, (me + 1) % ranks, size % 7, came, (me - 1) % ranks, size % 7)
comm.Barrier()
total = np.zeros(64, "i8")
comm.Allreduce(np.full(64, me, "i8"), total)
comm.Bcast(total, 0)
"""
ROOM = {  # lanes that show what holds senders back, by system
    "ideal": set(),
    "mpi-np": {"credit in use"},
    "bip": {"credit in use"},
    "t3d": {"credit in use"},
    "t3d-1996": {"credit in use"},
    "ccu": {"window in use"},
    "mbcf": {"FIFO in use"},
    "sci": {"credit in use", "chunk buffers in use", "ring in use"},
}
SYSTEMS = ("ideal", "mpi-np", "bip", "t3d", "ccu", "mbcf", "sci")
RUNS = [(system, ranks) for system in SYSTEMS for ranks in (2, 16, 64)] + [("t3d-1996", 16)]
NODES = {"ccu": 16}  # the most that a system has; its ranks share them
WIDTHS = {1280: "light", 800: "dark", 420: "light"}
OPENS, STEP = 2.0, 0.050  # seconds of the page's own thread: other work on the machine is not the page's
STEPS = 8
ZOOM = "() => { timeline.zoom(0.7); timeline.paint(); }"
WHOLE = "() => { timeline.look(0, data.total); timeline.paint(); }"
HIDDEN = """() => [...document.querySelectorAll(".wide .scroll")]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.parentElement.id)"""
UNFOLD = "() => { for (const lane of lanes) lane.folded = false; timeline.layOut(); timeline.paint(); }"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install 'openlanai[browser]'")
    with playwright.sync_playwright() as session:
        yield session.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])


class Tab:
    """A page in a tab. `troubles`: errors, and what it fetched from elsewhere."""

    def __init__(self, chromium: Any, path: Path, width: int = 1280, scheme: str = "light") -> None:
        self.troubles: list[str] = []
        self.page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", lambda line: self.troubles.append(line.text) if line.type == "error" else None)
        self.page.on("request", lambda one: self.troubles.append(one.url) if not one.url.startswith("file:") else None)
        self._clock = self.page.context.new_cdp_session(self.page)
        self._clock.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("body[data-ready=yes]")

    def spent(self) -> float:
        """Seconds that the page's thread has worked."""
        metrics = self._clock.send("Performance.getMetrics")["metrics"]
        (seconds,) = [float(one["value"]) for one in metrics if one["name"] == "TaskDuration"]
        return seconds

    def zoom_step(self) -> float:
        """Seconds of a step, the mean of some."""
        before = self.spent()
        for _ in range(STEPS):
            self.do(ZOOM)
        took = (self.spent() - before) / STEPS
        self.do(WHOLE)
        return took

    def do(self, script: str) -> Any:
        return self.page.evaluate(script)

    def count(self, selector: str) -> int:
        found: int = self.page.locator(selector).count()
        return found

    def text(self, selector: str) -> str:
        found: str = self.page.locator(selector).inner_text()
        return found


@pytest.fixture
def tab(chromium: Any, tmp_path: Path) -> Iterator[Tab]:
    path = tmp_path / "page.html"
    path.write_text(page_of(sample()), encoding="utf-8")
    made = Tab(chromium, path)
    yield made
    made.page.close()
    assert made.troubles == []


@pytest.mark.slow
def test_a_message_is_followed_from_its_row(tab: Tab) -> None:
    assert tab.count("#ranks .row") == 2
    tab.page.locator("#messages tbody tr").first.click()
    assert "4 bytes from rank 0 to rank 1" in tab.text("#chosen")
    assert tab.count("#message tbody tr") == 11
    tab.page.locator("#calls th", has_text="count").click()
    assert tab.page.locator("#calls th", has_text="count").get_attribute("aria-sort") == "descending"


@pytest.mark.slow
def test_the_wheel_the_keys_and_a_box_zoom(tab: Tab) -> None:
    span = "timeline.end - timeline.begin"
    timeline = tab.page.locator("#timeline")
    timeline.hover(position={"x": 700, "y": 30})
    tab.page.mouse.wheel(0, -400)
    tab.page.wait_for_function(f"{span} < 1_000_000")
    tab.page.locator("#whole").click()
    assert tab.do(span) == 1_000_000
    tab.page.keyboard.press("+")
    assert tab.do(span) == 500_000
    tab.page.keyboard.press("0")
    box = timeline.bounding_box()
    tab.page.keyboard.down("Shift")
    tab.page.mouse.move(box["x"] + 500, box["y"] + 60)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + 700, box["y"] + 60)
    tab.page.mouse.up()
    tab.page.keyboard.up("Shift")
    begin, end = tab.do("[timeline.begin, timeline.end]")
    assert 0 < begin < end < 1_000_000
    assert abs((end - begin) - 200 * 1_000_000 / tab.do("timeline.width - timeline.left")) < 20_000


@pytest.mark.slow
def test_the_tooltip_tells_line_message_and_cause(tab: Tab) -> None:
    place = tab.do("""() => {
      const row = timeline.rows.find((row) => row.lane.name === "processor");
      timeline.reveal(row.lane);
      return { x: timeline.x(350_000), y: row.top - timeline.frame.scrollTop + 8 };
    }""")
    tab.page.locator("#timeline").hover(position=place)
    told = tab.text("#tip")
    for text in (
        "fw.poll: 0.120 µs",
        "line main.py:2",
        "message 0: 4 bytes from rank 0 to rank 1, tag 0",
        "caused by MPI_Send at ring.py:12",
    ):
        assert text in told


@pytest.mark.slow
def test_arrows_show_what_is_under_way_where_the_pointer_is(tab: Tab) -> None:
    timeline = tab.page.locator("#timeline")
    before = tab.do("timeline.canvas.toDataURL()")
    place = tab.do("""() => {
      const row = timeline.rows.find((row) => row.lane.name === "rank 1");
      return { x: timeline.x((messages[0].begin + messages[0].end) / 2), y: row.top - timeline.frame.scrollTop + 8 };
    }""")
    timeline.hover(position=place)
    assert tab.do("timeline.arrows().map((one) => one.id)") == [0]
    tab.page.wait_for_function("(before) => timeline.canvas.toDataURL() !== before", arg=before)
    timeline.hover(position={"x": 20, "y": place["y"]})
    assert tab.do("timeline.arrows()") == []


@pytest.mark.slow
def test_search_finds_and_goes_there(tab: Tab) -> None:
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("fw.send")
    assert tab.text("#found") == "1 found"
    tab.page.keyboard.press("Enter")
    assert tab.text("#found") == "1 of 1: NIC 0 · processor"
    assert tab.do("timeline.begin < 420_000 && timeline.end > 500_000")
    tab.page.keyboard.press("Escape")
    assert tab.text("#found") == ""


@pytest.mark.slow
def test_lanes_fold_and_kinds_hide(tab: Tab) -> None:
    rows = tab.do("timeline.rows.length")
    box = tab.page.locator("#timeline").bounding_box()
    tab.page.mouse.click(box["x"] + 20, box["y"] + 30)
    assert tab.do("timeline.rows.length") < rows
    tab.page.locator("#legend button", has_text="DMA").click()
    assert tab.do("[...hidden].map((kind) => data.kinds[kind])") == ["DMA"]


@pytest.mark.slow
@pytest.mark.parametrize(("system", "ranks"), RUNS)
def test_pages_of_all_systems(chromium: Any, tmp_path: Path, system: str, ranks: int) -> None:
    trace, page, program = (tmp_path / name for name in ("run.trace", "page.html", "program.py"))
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "lanai_sim", "run", "-n", str(ranks), "--system", system, "--trace", str(trace)]
    if ranks > NODES.get(system, ranks):
        command += ["--ranks-per-node", str(ranks // NODES[system])]
    subprocess.run([*command, "--", sys.executable, str(program)], check=True, capture_output=True, timeout=500)
    assert main(["trace", "report", str(trace), "--html", str(page)]) == 0
    assert page.stat().st_size <= 2_000_000
    for width, scheme in WIDTHS.items():
        tab = Tab(chromium, page, width, scheme)
        assert tab.spent() <= OPENS
        assert tab.do("document.documentElement.scrollWidth") <= width
        assert tab.do("lanes.filter((lane) => !lane.children.length && !lane.begin.length && !lane.values)") == []
        names = set(tab.do("lanes.filter((lane) => lane.values).map((lane) => lane.name)"))
        assert names & set().union(*ROOM.values()) == ROOM[system]
        assert tab.do("lanes.filter((lane) => lane.wide > timeline.left).map((lane) => lane.name)") == []
        assert tab.zoom_step() <= STEP
        tab.do(UNFOLD)
        assert tab.zoom_step() <= STEP
        if width > 1000:  # the last columns of tables are in sight
            assert tab.do(HIDDEN) == []
        tab.page.screenshot(path=str(tmp_path / f"{system}-{ranks}-{width}.png"), full_page=True)
        tab.page.close()
        assert tab.troubles == []
