"""Other legal orders of an MPI program: which of them fail, and how to repeat them.

- `records`: what the ranks of a run have chosen, read and compared.
- `schedule`: a run as a file that can be repeated.
- `running`: one run by a plan.
- `ahead`: runs that workers make ahead of the search, and a journal of runs.
- `failure`: how a run differs from one that is right.
- `minimizing`: a failure by fewer changed choices.
- `search`: which plans to try, and in which order.
- `replaying`: a schedule run again.
- `report`: what a user is told.
"""
