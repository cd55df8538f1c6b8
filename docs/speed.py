"""The tables of docs/reference/speed.md and their record: `python docs/speed.py` measures them, on a quiet machine, and
writes docs/speed.json. Names of parts, as in `PARTS`, measure these alone and leave the others as they are.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path

RECORD = Path(__file__).parent / "speed.json"
DEVICES = ("lanai2", "mpi-np", "bip", "mbcf", "sci", "t3d", "ccu")
NICS = (16, 64)
SIZES = (4, 65536)
STARTS = (2, 4, 16, 32)
TRAFFIC = ("pingpong", "collectives", "halo", "alltoall", "stream", "ccu", "t3d", "adapter", "mbcf", "sci")
PARTS: Mapping[str, Mapping[str, list[str]]] = {
    "engine": {"": ["engine"]},
    "start": {"": ["start"]},
    "message": {name: ["message", "--device", name, "--bytes", "4"] for name in DEVICES}
    | {f"{name}/long": ["message", "--device", name, "--bytes", "65536", "--messages", "100"] for name in DEVICES},
    "scale": {name: ["scale", "--device", name, "--nics", *map(str, NICS)] for name in DEVICES},
    "mpi": {"": ["mpi"]},
}
Figures = Mapping[str, float]


def measure(parts: Iterable[str]) -> None:
    """Run the benches of these parts. The record is written after each."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for part in parts:
        for of, words in PARTS[part].items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "figures.json")
                subprocess.run([sys.executable, "-m", "lanai_sim", "dev", "bench", *words, "--json", path], check=True)
                found = json.loads(path.read_text())
            kept = record.get("figures", {}) if record.get("commit") == found["commit"] else {}
            device = of.partition("/")[0]
            named = {f"{device}.{name}" if device else name: value for name, value in found["figures"].items()}
            record = {
                "commit": found["commit"],
                "date": str(date.today()),
                "figures": dict(sorted((kept | named).items())),
            }
            RECORD.write_text(json.dumps(record, indent=1) + "\n")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown whose first column is text."""
    names = list(head)
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- |", "|---|", 1)


def engine(of: Figures) -> str:
    rows = [
        ("one NIC whose processor works, and nothing else", of["engine.nic_cycles_per_second.1"]),
        ("eight of them", of["engine.nic_cycles_per_second.8"]),
        ("the model of that NIC in a bare loop", of["engine.bare_cycles_per_second"]),
        *((f"recorded: `{name}`", of[f"engine.cycles_per_second.{name}"]) for name in TRAFFIC),
    ]
    return table(("what", "million NIC cycles a second"), [(what, f"{rate / 1e6:.2f}") for what, rate in rows])


def start(of: Figures) -> str:
    def row(name: str, key: str) -> tuple[str, ...]:
        return name, *(f"{of[f'start.{language}cpu_s.{key}']:.3g}" for language in ("", "c_"))

    rows = [row(f"{ranks} ranks", str(ranks)) for ranks in STARTS] + [row("a rank more", "rank")]
    return table(("CPU s of a whole run", "Python", "C"), rows)


def message(of: Figures) -> str:
    columns = ("", ".engine", ".simulator", ".ranks", ".kernel")

    def row(name: str) -> list[str]:
        short, long = (f"{name}.message.cpu_us.{size}" for size in SIZES)
        cells = [f"{of[short + part]:.0f}" for part in columns]
        cells.append(f"{of[f'{name}.message.calls.4']:.0f}")
        return [f"`{name}`", *cells, f"{of[long] / 1e3:.0f}", f"{of[long + '.engine'] / 1e3:.0f}"]

    head = ("device", "4 bytes, us", "engine", "simulator", "ranks", "kernel", "calls", "64 KiB, ms", "engine")
    return table(head, map(row, DEVICES))


def scale(of: Figures) -> str:
    def row(name: str, nics: int) -> list[str]:
        head = f"{name}.scale"
        sizes = [of[f"{head}.{figure}.{nics}"] for figure in ("cpu_s", "simulator_mb", "rank_mb")]
        times = [of[f"{head}.simulated_us.{nics}.{figure}"] for figure in ("ring", "barrier", "allreduce", "halo")]
        return [
            f"`{name}`",
            str(nics),
            f"{sizes[0]:.1f}",
            *(f"{size:.0f}" for size in sizes[1:]),
            *(f"{time:.3g}" if time < 1000 else f"{time:.0f}" for time in times),
        ]

    head = ("device", "NICs", "CPU s", "simulator MB", "rank MB", "ring, us", "barrier", "allreduce", "halo")
    return table(head, [row(name, nics) for name in DEVICES for nics in NICS])


def mpi(of: Figures) -> str:
    rows = [
        ("`MPI_Comm_rank`", "mpi.comm_rank_us", ""),
        ("4 bytes, half a round trip", "mpi.ideal_half_round_trip_us", "mpi.mpich_half_round_trip_us"),
        ("`MPI_Put` and its flush", "mpi.ideal_put_flush_us", "mpi.mpich_put_flush_us"),
    ]
    shown = [(what, f"{of[here]:.3g}", f"{of[there]:.3g}" if there else "") for what, here, there in rows]
    return table(("us of real time", "`ideal`", "MPICH"), shown)


TABLES: Mapping[str, Callable[[Figures], str]] = {one.__name__: one for one in (engine, start, message, scale, mpi)}

if __name__ == "__main__":
    measure(sys.argv[1:] or PARTS)
