"""Independent runs, side by side: on this machine's cores, on the ranks of an MPI job, or on a cluster.

- `place`: what `--on`, `--jobs` and `--limit` say.
- `kinds`: the `concurrent.futures.Executor` of a place.
- `workers`: what a worker does, tasks handed to workers, and what is said when one is lost.
- `journal`: results that are kept, so that a command that was stopped goes on where it was.
"""
