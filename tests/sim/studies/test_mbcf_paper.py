"""`lanai paper mbcf`: every claim is answered or has a reason; what the paper sees shows on hosts and a
network like its own."""

import pytest

from lanai_sim.studies.papers import claims, page
from lanai_sim.studies.papers.mbcf import answers, experiments, study


def made_up():
    """A figure of each name that the experiments give."""
    found = {}
    for setting in ("theirs", "ours"):
        for way in ("sr", "nsr"):
            found |= {f"{setting}.rtt.{way}.{size}": 100.0 for size in experiments.ROUND_TRIP_SIZES}
            found |= {f"{setting}.bandwidth.{way}.{size}": 10.0 for size in experiments.BANDWIDTH_SIZES}
    return found


def test_each_claim_has_an_answer_or_a_reason():
    found = study.answer(made_up())
    assert [one.claim.id for one in found] == [claim.id for claim in claims.load("mbcf")]
    assert all(one.answered or len(one.why) > 10 for one in found)
    assert "No experiment or test yet." not in {one.why for one in found}
    text = page.write(study.FRAME, found, study.draw(made_up()), "figures")
    assert all(f"`{one.claim.id}`" in text for one in found)


def test_every_way_names_a_claim():
    assert answers.ways().keys() <= {claim.id for claim in claims.load("mbcf")}


@pytest.mark.slow
def test_what_the_paper_sees_shows():
    """Requests shorten the round trip of messages that are not short, and do not cost streams much
    bandwidth."""
    theirs = experiments.theirs()
    found = experiments.round_trip(theirs, True) | experiments.bandwidth(theirs, True)
    for size in (256, 1024, 4096):
        assert found[f"theirs.rtt.sr.{size}"] < found[f"theirs.rtt.nsr.{size}"]
    assert abs(found["theirs.rtt.sr.0"] / 71 - 1) < 0.05
    verdict = answers.ways()["mbcf.s4_2.no_requests_in_streams"].verdict(found)
    assert verdict is not None
    assert verdict[0], verdict[1]
