"""The checks of the barrier tree's part of the put firmware, each with the test that fails without
it."""

from lanai_firmware.programs.put_barrier import barriers

from ..mutants import Mutant
from . import test_barriers

MUTANTS = {
    Mutant(
        barriers.arrive, "nic.request.length >> KIND_AT & KIND_MASK != BARRIER", "False"
    ): test_barriers.test_other_requests_are_no_barriers,
    Mutant(barriers.tell, "gone()", "False"): test_barriers.test_a_rank_that_has_ended_is_told_nothing,
    Mutant(barriers.tell, "seen & LOST != 0", "False"): test_barriers.test_a_lost_tree_is_a_fault,
    Mutant(barriers.tell, "passed == 0", "False"): test_barriers.test_what_no_barrier_waits_for_is_not_told,
    Mutant(barriers.tell, "tree.waiting == 0", "False"): test_barriers.test_a_lost_tree_is_a_fault,
    Mutant(
        barriers.tell, "tree.waiting & ~(seen ^ tree.bits)", "tree.waiting"
    ): test_barriers.test_what_no_barrier_waits_for_is_not_told,
    Mutant(
        barriers.tell, "tree.waiting & ~(seen ^ tree.bits)", "~(seen ^ tree.bits)"
    ): test_barriers.test_what_no_barrier_waits_for_is_not_told,
    Mutant(barriers.tell, "host_dma.free() == 0", "False"): test_barriers.test_a_barrier_waits_for_room_in_the_host_dma,
}
