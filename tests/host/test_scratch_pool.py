"""Memory for the library's own messages."""

import gc
from itertools import pairwise

from lanai_host.scratch_pool import LEAST, MOST, PAGE, POOL, Pool


def test_a_slot_is_free_when_all_views_are_gone():
    pool = Pool()
    made, address = pool.take(100)
    part = made[10:20].data
    del made
    gc.collect()
    second, elsewhere = pool.take(100)
    assert elsewhere != address
    del part
    gc.collect()
    third, again = pool.take(65)
    assert again == address
    third[:] = 1
    second[:] = 2
    assert set(third.tolist()) == {1}


def test_slots_cross_no_page_boundary_that_their_size_does_not_need():
    pool = Pool()
    kept = [pool.take(size) for size in (1, LEAST, LEAST + 1, 1000, PAGE, PAGE + 1, MOST) for _ in range(5)]
    kept += [pool.take(0), pool.take(MOST + 1)]
    for made, address in kept:
        assert made.ctypes.data == address
        if 0 < made.size <= MOST:
            assert -(-(address % PAGE + made.size) // PAGE) == -(-made.size // PAGE)
    places = sorted((address, made.size) for made, address in kept)
    assert all(first + size <= second for (first, size), (second, _) in pairwise(places))


def test_the_pool_of_the_library_holds_what_is_written():
    made, address = POOL.take(300)
    made[:] = 5
    assert bytes(made.data) == b"\5" * 300
    assert address % 512 == 0
