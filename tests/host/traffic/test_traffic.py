"""Random MPI traffic on NICs is what it is on real MPICH: every message, in order, with its
data."""

import re
from dataclasses import replace

import pytest
from pairs import first_of

from .runs import LAYOUTS, SETTINGS, T3D_SHELL, bip, compiled, mpich, on_lanai, on_mpich

pytestmark = pytest.mark.skipif(mpich() is None, reason="the mpich wheel is not installed")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("traffic"))


def line_of(text):
    """The line that the program prints."""
    found = re.fullmatch(r"traffic: seed \d+, \d+ ranks, \d+ rounds, \d+ bytes, digest [0-9a-f]{16}\n", text)
    assert found, text
    return found[0]


@pytest.mark.parametrize(("seed", "ranks"), first_of((1, 2), (4, 5), (2, 2), (3, 4)))
def test_ideal_as_mpich(program, seed, ranks):
    assert line_of(on_lanai(program, seed, ranks, [])) == line_of(on_mpich(program, seed, ranks))


@pytest.mark.ci
def test_the_seed_decides_what_is_sent(program):
    digests = {line_of(on_lanai(program, seed, 2, [])).split()[-1] for seed in (1, 2, 1)}
    assert len(digests) == 2


def test_a_wrong_byte_is_found(tmp_path):
    """The program's own check: with another pattern at one rank's sends it stops and names the
    message."""
    spoilt = compiled(tmp_path, "-DSPOIL=1")
    assert "wrong data (communicator" in on_lanai(spoilt, 1, 2, [])


@pytest.mark.parametrize(
    "setting",
    first_of(*(SETTINGS[n] for n in (1, 2, 0, 3, -1))),
    ids=lambda setting: setting.name,
)
def test_nics_as_mpich(program, setting):
    seed = 1
    expected = line_of(on_mpich(program, seed, setting.ranks))
    assert line_of(on_lanai(program, seed, setting.ranks, setting.options(seed))) == expected


@pytest.mark.ci
@pytest.mark.parametrize(("ranks", "seed"), [(2, 1), (2, 2), (4, 1)])
def test_the_shell_of_the_t3d_as_mpich(program, ranks, seed):
    setting = replace(T3D_SHELL, nics=ranks)
    expected = line_of(on_mpich(program, seed, ranks))
    assert line_of(on_lanai(program, seed, ranks, setting.options(seed))) == expected


@pytest.fixture(scope="module")
def layouts(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("layouts"), source=LAYOUTS)


def strided_as_mpich(program, nic, seed, ranks, rounds, *options):
    """T3-22: blocks leave from where they lie, or are packed."""
    expected = on_mpich(program, seed, ranks, rounds)
    assert len(expected.splitlines()) == rounds * ranks
    chosen = [word for option in options for word in ("--option", option)]
    assert on_lanai(program, seed, ranks, ["--device", "t3d", "--nic", nic, *chosen], rounds) == expected


@pytest.mark.ci
@pytest.mark.parametrize(
    ("nic", "options"),
    [("t3d_shell", ("strided=4",)), ("t3d_shell", ("strided=32", "alignment=1")), ("t3d", ("strided=4",))],
)
def test_strided_puts_as_mpich(layouts, nic, options):
    strided_as_mpich(layouts, nic, 1, 2, 5, *options)


@pytest.mark.slow
@pytest.mark.parametrize("strided", [0, 4, 64])
@pytest.mark.parametrize(("nic", "seed", "ranks"), [("t3d_shell", 2, 2), ("t3d_shell", 3, 3), ("t3d", 4, 2)])
def test_many_strided_puts_as_mpich(layouts, nic, seed, ranks, strided):
    strided_as_mpich(layouts, nic, seed, ranks, 20, f"strided={strided}", f"alignment={1 if seed == 3 else 4}")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
@pytest.mark.parametrize("seed", range(1, 101))
def test_a_hundred_seeds(program, seed, setting):
    expected = line_of(on_mpich(program, seed, setting.ranks))
    assert line_of(on_lanai(program, seed, setting.ranks, setting.options(seed))) == expected


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("seed", range(1, 51))
def test_fifty_seeds_on_a_thin_firmware(program, seed, ranks):
    expected = line_of(on_mpich(program, seed, ranks))
    assert line_of(on_lanai(program, seed, ranks, bip(ranks, seed).options(seed))) == expected
