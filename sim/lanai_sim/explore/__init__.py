"""Other legal orders of an MPI program: which of them fail, and how to repeat them.

- `records`: what the ranks of a run have chosen, read and compared.
- `schedule`: a run as a file that can be repeated.
- `running`: one run by a plan.
- `ahead`: runs that workers make ahead of the search, and a journal of runs.
- `causality`: what happens before what in a run, by vector clocks.
- `causes`: why a program differs between runs with the same choices.
- `files`: the files that a run has written.
- `failure`: how a run differs from one that is right, and the same failure by fewer changed choices.
- `search`: which plans to try, and in which order.
- `replaying`: a schedule run again.
- `debugging`: the same with a rank under a debugger.
- `report`: what a user is told.
"""
