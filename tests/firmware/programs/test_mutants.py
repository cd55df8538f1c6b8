"""Each check of a firmware and each of its rules of order has a test that fails without it."""

import pytest

from .bip import mutants as bip
from .ccu import mutants as ccu
from .mpi_np import mutants as mpi_np
from .put import mutants as put
from .put_barrier import mutants as put_barrier

LISTS = {"bip": bip, "put": put, "put_barrier": put_barrier, "ccu": ccu, "mpi_np": mpi_np}
ALL = [pytest.param(*item, id=f"{name}: {item[0]}") for name, one in LISTS.items() for item in one.MUTANTS.items()]


@pytest.mark.ci(whole=True)  # each mutant is a check of its own
@pytest.mark.parametrize(("mutant", "test"), ALL)
def test_a_test_notices(mutant, test):
    with mutant.applied():
        try:
            test()
        except Exception:
            return
    pytest.fail(f"{test} passes without it")
