"""Lab 6, solved: the second message comes from the sender of the first, values carry their task, and
neighbours exchange."""

import sys
import time

from mpi4py import MPI

TASK, VALUE, STEPS, STOP = 1, 2, 3, 4  # tags


def solve(task):
    """Return the value of a task, and how many steps it took. Long tasks take longer in simulated time, too."""
    steps = 1 + task * 7 % 5
    time.sleep(20e-6 * steps)
    return task * task % 97, steps


def manage(comm, tasks):
    """Hand out all tasks. Return their values, and the steps of each worker."""
    workers = range(1, comm.size)
    values, steps = {}, [0] * comm.size
    following = iter(range(tasks))
    for worker in workers:
        give(comm, worker, following)
    while len(values) < tasks:
        status = MPI.Status()
        task, value = comm.recv(source=MPI.ANY_SOURCE, tag=VALUE, status=status)
        took = comm.recv(source=status.source, tag=STEPS)
        values[task] = value
        steps[status.source] += took
        give(comm, status.source, following)
    return [values[task] for task in range(tasks)], steps


def give(comm, worker, following):
    """Send a worker the following task, or tell it to stop."""
    task = next(following, None)
    comm.send(task, dest=worker, tag=STOP if task is None else TASK)


def work(comm):
    """Solve tasks until there are none. Return the steps that all took."""
    status, total = MPI.Status(), 0
    while True:
        task = comm.recv(source=0, status=status)
        if status.tag == STOP:
            return total
        value, steps = solve(task)
        total += steps
        comm.send((task, value), dest=0, tag=VALUE)
        comm.send(steps, dest=0, tag=STEPS)


def agree(comm, own):
    """Compare a rank's steps with those of its neighbour to the left. Return the larger number."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    return max(own, comm.sendrecv(own, dest=right, source=left))


def main():
    comm, tasks = MPI.COMM_WORLD, int(sys.argv[1])
    steps, own = None, 0
    if comm.rank == 0:
        values, steps = manage(comm, tasks)
        print("checksum", sum((place + 1) * value for place, value in enumerate(values)))
        print("steps", sum(steps))
    else:
        own = work(comm)
    noted = comm.scatter(steps, root=0)
    assert noted == own, f"the manager noted {noted} steps for rank {comm.rank}, which made {own}"
    agree(comm, own)


main()
