"""A ping-pong, from the MPI call down to the line of firmware that carries the message.

Open it with: marimo edit examples/notebooks/pingpong.py
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="A ping-pong, down to the firmware line")


@app.cell
def _():
    import marimo as mo

    import openlanai

    return mo, openlanai


@app.cell
def _(mo):
    mo.md("""
    # A ping-pong, down to the firmware line

    Two ranks send a message back and forth. Each has a simulated NIC, whose processor runs the firmware of MPI-NP.
    """)
    return


@app.cell
def _():
    program = """
    from mpi4py import MPI

    world, data = MPI.COMM_WORLD, bytearray(64)
    peer = 1 - world.rank
    world.Barrier()
    for _ in range(3):
        if world.rank == 0:
            world.Send(data, peer, tag=7)
            world.Recv(data, peer, tag=7)
        else:
            world.Recv(data, peer, tag=7)
            world.Send(data, peer, tag=7)
    """
    return (program,)


@app.cell
def _(openlanai, program):
    import textwrap

    job = openlanai.Job(["python", "-c", textwrap.dedent(program)], ranks=2, device="mpi-np")
    result = job.run(trace=True).check()
    trace = result.trace
    result
    return result, trace


@app.cell
def _(mo):
    mo.md("""
    ## The calls

    Where each rank's time went, call by call. All times are simulated microseconds.
    """)
    return


@app.cell
def _(trace):
    calls = trace.frame("calls", "pandas")
    by_call = calls[calls["took_us"] > 0].groupby(["rank", "name"])["took_us"].agg(["count", "sum"]).reset_index()
    by_call
    return (by_call,)


@app.cell
def _(mo):
    mo.md("""
    ## The messages

    A message is posted by its sender, leaves the NIC, arrives at the other NIC, and completes the receive.
    """)
    return


@app.cell
def _(trace):
    every = trace.frame("messages", "pandas")
    times = ["posted_us", "left_us", "arrived_us", "completed_us"]
    messages = every[every["tag"] == 7][["id", "source", "target", "bytes", "protocol", *times]]
    messages
    return (messages,)


@app.cell
def _(mo):
    mo.md("""
    ## One message on both NICs

    The stretches of both NICs' processors that belong to the third message, summed by line of firmware.
    """)
    return


@app.cell
def _(messages, trace):
    number = int(messages["id"].iloc[2])
    work = trace.frame("processor", "pandas")
    mine = work[(work["message"] == number) & (work["state"] == "run")]
    keys = ["node", "file", "line"]
    lines = mine.groupby(keys)["took_us"].sum().sort_values(ascending=False).head(12).reset_index()
    return (lines,)


@app.cell
def _(lines, trace):
    def source(file, line):
        text = trace.firmware.files.get(file, "").splitlines()
        return text[line - 1].strip() if 0 < line <= len(text) else "(made by the compiler)"

    hottest = lines.assign(source=[source(row.file, row.line) for row in lines.itertuples()])
    hottest
    return (hottest,)


if __name__ == "__main__":
    app.run()
