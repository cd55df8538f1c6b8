"""The study of the CCU MPI: each answer belongs to a claim, and comes from figures that some
experiment makes; each pattern runs on the paper's system."""

import pytest

from lanai_sim.executors.place import Place
from lanai_sim.studies.papers import claims, studies, verdicts
from lanai_sim.studies.papers.ccu import experiments, study
from lanai_sim.studies.papers.ccu import experiments as systems
from lanai_sim.studies.papers.records import Record

STUDY = studies.find("ccu")


def fake(slower):
    """Runs of a world in which a message takes what the paper's two bandwidths imply, and `slower`
    times that on the other systems and by messages to each rank, but a little less for what just
    fits into a datagram one way; windows far from 30 are slow, and those above 32 lose packets."""

    def observed(pattern, ranks, options, sizes, *, repetitions=1, fabric=systems.FABRIC, faults=()):
        ours = options == systems.OURS and pattern != "linear_bcast"
        late = abs(options.window - 30) if options.present else 0
        fits = [size for size in sizes if pattern == "ping" and 6000 <= size < options.datagram]
        factors = {size: 1 if ours else 0.98 if size in fits else slower for size in sizes}
        times = {size: (1700 + 1.0375 * size + late) * factors[size] for size in sizes}
        runs = {size: [[(0, time)] * ranks] * repetitions for size, time in times.items()}
        return experiments.Outcome(runs, {"resent": max(0, options.window - 32), "timeouts": 0})

    return observed


@pytest.fixture
def figures(monkeypatch):
    def make(slower):
        monkeypatch.setattr(experiments, "observed", fake(slower))
        return STUDY.figures(True, Place(jobs=1), lambda name: None)

    return make


def test_the_checkouts_mapping_is_sound():
    assert verdicts.read_tests(STUDY.mapping, claims.load("ccu"))


def test_every_way_to_answer_finds_its_figures(figures):
    found = STUDY.answer(figures(1.5))
    by_id = {one.claim.id.removeprefix("ccu."): one for one in found}
    assert all(by_id[name].answered for name in (way.removeprefix("ccu.") for way in STUDY.ways()))
    shapes = [one for one in found if one.holds is not None]
    assert shapes
    assert all(one.holds for one in shapes)
    assert by_id["s5_3.bw_8000"].value == pytest.approx(6.4)
    assert by_id["s3.best_window"].value == 30


def test_the_papers_rule_for_acknowledgements_decides_the_best_window():
    """A quick run has it not."""
    times = {"stream": {30: 1.0, 34: 3.0}, "every_25": {30: 2.0, 34: 1.0}}
    found = {f"window.{way}_us.{size}": time for way, ones in times.items() for size, time in ones.items()}
    (row,) = (one for one in STUDY.answer(found) if one.claim.id == "ccu.s3.best_window")
    assert row.value == 34
    assert "Acknowledged so, the best is 30 (45 and 60 ms)" in row.why


def test_systems_are_compared_on_a_wire_with_collisions_and_loss(figures):
    found = figures(1.5)
    seen = {one.claim.id: one.saw for one in STUDY.answer(found)}["ccu.s6.collectives_better"]
    assert "with collisions and loss: pingpong 1.50 and 1.50 (3 % lost)" in seen


def test_shapes_do_not_show_where_the_others_are_faster(figures):
    found = {one.claim.id: one for one in STUDY.answer(figures(0.9))}
    for name in (
        "s5_3.ping_vs_lam_window",
        "s5_3.pingpong_exchange",
        "s6_1.bcast_order",
        "s6.collectives_better",
        "s7.bitonic_best",
        "s8.three_causes",
    ):
        assert found[f"ccu.{name}"].holds is False


def test_at_least_31_claims_are_answered_or_have_a_reason(figures):
    found = STUDY.answer(figures(1.5))
    assert all(one.answered or one.why != verdicts.NOT_YET for one in found)
    assert sum(one.answered for one in found) >= 31


def test_reduce_by_gather_is_measured_by_the_number_of_nodes(figures):
    """CC-G4."""
    found = figures(1.5)
    assert {"ccu.reduce_us_of_nodes.2", "ccu.reduce_us_of_nodes.8"} <= set(found)
    assert "linear" in STUDY.draw(found)


def test_whose_time_counts():
    """CC-B4, CC-B5: the slowest of those that receive, in the slowest repetition, from when the last of
    those that send has begun."""
    outcome = experiments.Outcome({4: [[(1, 10), (0, 2), (2, 5)], [(0, 1), (0, 2), (1, 5)]]}, {})
    assert outcome.longest("bcast") == {4: 5}
    assert outcome.longest("gather") == {4: 8}
    assert outcome.longest("bitonic") == {4: 8}


def test_messages_that_follow_each_other_share_the_time():
    outcome = experiments.Outcome({4: [[(0, 10), (3, 12)]]}, {}, share=2)
    assert outcome.longest("pingpong") == {4: 6}


BYTE_US = 0.8  # of a wire of 10 Mbit/s


@pytest.mark.ci
@pytest.mark.parametrize(
    ("pattern", "ranks"),
    [("ping", 2), ("exchange", 2), ("gather", 4), ("scatter", 4), ("reduce", 4), ("bitonic", 4)],
)
def test_a_pattern_takes_at_least_what_its_bytes_take_on_the_wire(pattern, ranks):
    """CC-B1, CC-B3, CC-B5..CC-B8."""
    found = experiments.measured(pattern, ranks, systems.OURS, (4, 1000))
    messages = 2 if pattern == "exchange" else ranks - 1
    assert found[1000] > BYTE_US * 1000 * messages
    assert found[1000] > found[4] > 500  # the daemons' work for a packet and its acknowledgement


@pytest.mark.ci
def test_packets_of_a_message_overlap():
    """CC-20, CC-B2: four packets in one message take less than four messages of one."""
    found = experiments.measured("pingpong", 2, systems.OURS, (1000, 4000))
    assert BYTE_US * 4000 < found[4000] < 0.8 * 4 * found[1000]


@pytest.mark.ci
def test_a_broadcast_is_one_packet_on_the_wire():
    """CC-B4."""
    by_broadcast, by_messages = (
        experiments.measured(pattern, 4, systems.OURS, (1000,))[1000] for pattern in ("bcast", "linear_bcast")
    )
    assert by_broadcast < 0.7 * by_messages


@pytest.mark.ci
def test_cannons_product_runs_on_a_square_of_processes():
    """CC-B9: four processes multiply blocks of 8 rows in two steps, with two messages each."""
    (time,) = experiments.measured("cannon", 4, systems.OURS, (8,)).values()
    assert time > 4 * 600


@pytest.mark.slow
def test_short_messages_time_out_without_the_acknowledgement_timer():
    """CC-G1: the paper's rule stalls, the timer mends it."""
    found = experiments.stalls(True)
    assert found["stall.timeouts.paper"] > 0
    assert found["stall.resent.paper"] > 0
    assert found["stall.timeouts.timer"] == found["stall.resent.timer"] == 0


@pytest.mark.slow
def test_windows_beyond_the_system_buffer_lose_packets_and_gain_nothing():
    """CC-12."""
    found = experiments.windows(True)
    best = study.best_window(found)
    assert 28 <= best <= 32
    assert found[f"window.stream_us.{best}"] < 0.95 * found["window.stream_us.25"]
    assert found["window.stream_us.34"] > 1.5 * found[f"window.stream_us.{best}"]
    assert found["window.resent.34"] > 50 > found[f"window.resent.{best}"]


def test_without_figures_only_constants_and_tests_answer(figures):
    found = STUDY.answer({})
    assert all(one.holds is None for one in found)
    assert all(one.why or one.answered for one in found)


def test_the_page_shows_every_plot(figures):
    measured = figures(1.5)
    text = STUDY.page(Record(measured))
    drawn = STUDY.draw(measured)
    assert {"pingpong", "bandwidth", "bcast", "cannon", "window"} <= set(drawn)
    assert all(f"figures/ccu-{name}.svg" in text for name in drawn)
