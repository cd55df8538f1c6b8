"""A small trace written by hand: one message of 4 bytes from rank 0 to rank 1, whose every stretch
is known. A slot is 1 ns here."""

from pathlib import Path
from typing import Any

import numpy as np

from lanai_sim.trace import Trace
from lanai_sim.trace import schema as s

SOURCE = "def poll():\n    look()\n    send()\n"
NS = 1000
CALL, COMPLETE = (s.HOST_KINDS.index(name) for name in ("CALL", "COMPLETE"))


def rows(dtype: Any, *values: dict[str, Any]) -> Any:
    """Rows with the columns named; others 0."""
    table = np.zeros(len(values), dtype)
    for index, row in enumerate(values):
        for name, value in row.items():
            table[name][index] = value
    return table


def sample() -> Trace:
    """Times in ns: rank 0 sends in [100, 400), rank 1 receives in [50, 900); the program ends at
    1000."""
    meta = {
        "command": ["ring.py"], "device": "mpi-np", "ranks": 2, "ranks_per_node": 1, "nodes": [[0], [1]],
        "started": 0, "slot_khz": 1_000_000,
        "firmware": {
            "places": [[0, "fw.main", "fw/main.py", 1, "fw.main"], [16, "fw.poll", "fw/main.py", 2, "fw.poll"],
                       [24, "fw.send", "fw/main.py", 3, "fw.poll"]],
            "functions": [["fw.main", 0, 16], ["fw.poll", 16, 32]],
            "files": {"fw/main.py": SOURCE},
        },
    }  # fmt: skip
    trace = Trace(Path("sample.trace"), meta)
    trace.names = ["MPI_Send", "MPI_Recv", "recv", "ring.py:12"]
    trace.outcome = {"clocks": [1000 * NS, 1000 * NS]}
    tables = {
        "calls": rows(s.CALLS,
                      {"id": 0, "rank": 0, "parent": -1, "name": 0, "peer": 1, "bytes": 4, "begin": 100 * NS,
                       "end": 400 * NS, "site": 3},
                      {"id": 1, "rank": 1, "parent": -1, "name": 1, "peer": 0, "bytes": 4, "begin": 50 * NS,
                       "end": 900 * NS, "site": -1}),
        "host": rows(s.HOST,
                     {"rank": 0, "call": 0, "kind": CALL, "begin": 100 * NS, "end": 200 * NS},
                     {"rank": 0, "call": 0, "kind": s.HostKind.PIO_WRITE, "begin": 200 * NS, "end": 300 * NS,
                      "bytes": 32},
                     {"rank": 0, "call": 0, "kind": s.HostKind.WAIT, "begin": 300 * NS, "end": 400 * NS},
                     {"rank": 1, "call": 1, "kind": CALL, "begin": 50 * NS, "end": 90 * NS},
                     {"rank": 1, "call": 1, "kind": s.HostKind.WAIT, "begin": 90 * NS, "end": 850 * NS},
                     {"rank": 1, "call": 1, "kind": COMPLETE, "begin": 850 * NS, "end": 900 * NS}),
        "messages": rows(s.MESSAGES,
                         {"id": 0, "source": 0, "target": 1, "bytes": 4, "protocol": s.Protocol.EAGER, "send_call": 0,
                          "receive_call": 1,
                          "posted": 150 * NS, "received": 80 * NS, "left": 500, "arrived": 600,
                          "completed": 880 * NS, "sent": 390 * NS}),
        "packets": rows(s.PACKETS,
                        {"id": 0, "source": 0, "target": 1, "message": 0, "bytes": 28, "head": 500, "tail": 560,
                         "arrival_head": 540, "arrival_tail": 600}),
        "lines": rows(s.LINES),
        "hostbus": rows(s.HOSTBUS),
        "lbus": rows(s.LBUS, {"node": 0, "begin": 256, "slots": 512, "used": [0, 0, 0, 128, 128]}),
        "requests": rows(s.REQUESTS,
                         {"id": 0, "rank": 0, "kind": s.RequestKind.SEND, "posted": 150 * NS, "completed": 390 * NS},
                         {"id": 1, "rank": 1, "kind": s.RequestKind.RECEIVE, "posted": 80 * NS,
                          "completed": 880 * NS}),
        "dma": rows(s.DMA,
                    {"node": 0, "engine": s.Engine.SEND, "begin": 490, "end": 560, "bytes": 28, "message": 0},
                    {"node": 1, "engine": s.Engine.HOST_WRITE, "begin": 700, "end": 760, "bytes": 4, "message": 0}),
        "processor": rows(s.PROCESSOR,
                          {"node": 0, "begin": 0, "end": 300, "pc": 0, "state": s.State.WAIT, "message": -1},
                          {"node": 0, "begin": 300, "end": 420, "pc": 16, "count": 50, "stalled": 20, "message": 0},
                          {"node": 0, "begin": 420, "end": 500, "pc": 24, "count": 40, "message": 0},
                          {"node": 1, "begin": 600, "end": 700, "pc": 16, "count": 50, "message": 0},
                          {"node": 1, "begin": 700, "end": 720, "pc": 20, "count": 10, "message": -1}),
    }  # fmt: skip
    trace.__dict__.update(tables)  # what cached properties would have made of a file
    return trace
