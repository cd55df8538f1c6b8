"""A sweep: how the rate of the link decides the time of a message, by its size.

Open it with: marimo edit examples/notebooks/sweep.py
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="Messages on slow and fast links")


@app.cell
def _():
    import marimo as mo

    import openlanai

    return mo, openlanai


@app.cell
def _(mo):
    mo.md("""
    # Messages on slow and fast links

    Two ranks play a ping-pong with messages of several sizes, on links of several rates. `lanai list parameters nic`
    shows the other parameters that could vary. Short messages take a few microseconds more or less, as the ranks meet
    their NICs' loops at other moments.
    """)
    return


@app.cell
def _():
    def ping_pong(sizes):
        """Return microseconds of one way for each size."""
        from mpi4py import MPI

        world, times = MPI.COMM_WORLD, []
        for size in sizes:
            data = bytearray(size)
            world.Barrier()
            began = MPI.Wtime()
            for turn in range(4):
                if turn % 2 == world.rank:
                    world.Send(data, 1 - world.rank)
                else:
                    world.Recv(data, 1 - world.rank)
            times.append(1e6 * (MPI.Wtime() - began) / 4)
        return times

    return (ping_pong,)


@app.cell
def _():
    sizes = [4, 256, 1024, 4096, 16384]
    rates = [20_000, 40_000, 80_000, 160_000]
    return rates, sizes


@app.cell
def _(openlanai, ping_pong, rates, sizes):
    found = []
    for rate in rates:
        machine = openlanai.Machine(nic={"link_kbytes": rate})
        times = openlanai.run(ping_pong, 2, "mpi-np", args=(sizes,), machine=machine, buffers="page")[0]
        found += [
            {"link, kB/s": rate, "bytes": size, "one way, us": time} for size, time in zip(sizes, times, strict=True)
        ]
    return (found,)


@app.cell
def _(found):
    import pandas

    table = pandas.DataFrame(found).pivot(index="bytes", columns="link, kB/s", values="one way, us")
    table
    return (table,)


@app.cell
def _(table):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for rate_shown in table.columns:
        axes.plot(table.index, table[rate_shown], marker="o", label=f"{rate_shown / 1000:g} MB/s")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("message, bytes")
    axes.set_ylabel("one way, us")
    axes.legend(title="link")
    figure
    return (figure,)


if __name__ == "__main__":
    app.run()
