"""One program on five systems, side by side.

Open it with: marimo edit examples/notebooks/systems.py
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="One program, five systems")


@app.cell
def _():
    import marimo as mo

    import openlanai

    return mo, openlanai


@app.cell
def _(mo):
    mo.md("""
    # One program, five systems

    The same MPI program on five systems of 1996 to 2002. A system is a messaging system with the NIC, the host and the
    fabric that its paper describes; `lanai list systems` lists them.
    """)
    return


@app.cell
def _(mo):
    program = ["python", str(mo.notebook_dir().parent / "mpi" / "pi.py")]
    ranks = 4
    systems = ["mpi-np-1999", "t3d-1996", "ccu-1996", "mbcf-1999", "sci-2002"]
    return program, ranks, systems


@app.cell
def _(openlanai, program, ranks, systems):
    jobs = {name: openlanai.Job.on(name, program, ranks, capture=True) for name in systems}
    results = {name: job.run().check() for name, job in jobs.items()}
    answers = {name: result.outputs[0].stdout.strip() for name, result in results.items()}
    answers
    return answers, results


@app.cell
def _(mo):
    mo.md("""
    ## Where the ranks' time went

    A rank waits, does the host's own work, or accesses the NIC (PIO). Times are microseconds of all ranks together.
    """)
    return


@app.cell
def _(results):
    import pandas

    rows = [
        {
            "system": name,
            "simulated": result.figures["run.simulated_us"],
            "waiting": result.figures["run.waiting_us"],
            "host work": result.figures["run.host_work_us"],
            "PIO": result.figures["run.pio_us"],
            "packets": result.figures["run.tx_packets"],
        }
        for name, result in results.items()
    ]
    table = pandas.DataFrame(rows).set_index("system")
    table
    return (table,)


@app.cell
def _(table):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 3.2), layout="constrained")
    parts = table[["waiting", "host work", "PIO"]]
    shares = 100 * parts.div(parts.sum(axis="columns"), axis="index")
    labels = [f"{name}\n{time:,.0f} us" for name, time in table["simulated"].items()]
    left = 0 * shares["waiting"]
    for part in shares.columns:
        axes.barh(labels, shares[part], left=left, label=part)
        left = left + shares[part]
    axes.invert_yaxis()
    axes.set_xlabel("% of the ranks' time; below each name: simulated time of the run")
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure
    return (figure,)


if __name__ == "__main__":
    app.run()
