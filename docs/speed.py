"""The tables of docs/reference/speed.md: `python docs/speed.py` runs the benches on a quiet machine, in about a quarter
of an hour, and writes docs/speed.json and the page's tables. Names of parts measure these alone, at the same commit.

`--tiny` runs every bench with its smallest settings, and writes the record and the page to a directory.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
RECORD, PAGE = Path("speed.json"), Path("reference/speed.md")
DEVICES = ("mpi-np", "bip", "mbcf", "sci", "t3d", "ccu", "lanai2")
TRAFFIC = ("pingpong", "collectives", "halo", "alltoall", "stream", "ccu", "t3d", "adapter", "mbcf", "sci")
SHORT, LONG = 4, 65536  # bytes of a message
# By part: the words of its bench, of each device if it takes one; and the same with the smallest settings.
PARTS: Mapping[str, tuple[str, str]] = {
    "engine": ("engine", "engine --cycles 5000 --traffic"),
    "start": ("start", "start --ranks 2 4"),
    "message": (f"message --bytes {SHORT}", f"message --bytes {SHORT} --messages 50"),
    "long": (f"message --bytes {LONG} --messages 50", f"message --bytes {LONG} --messages 50"),
    "scale": ("scale --nics 64", "scale --nics 2"),
}
OF_DEVICES = ("message", "long", "scale")
PLACE = re.compile(r"^<!-- speed (\w+) -->\n\n(.*?)(?=\n\n)", re.M | re.S)
Figures = Mapping[str, float]
Record = dict[str, Any]


def bench(words: Iterable[str]) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "figures.json")
        subprocess.run([sys.executable, "-m", "lanai_sim", "dev", "bench", *words, "--json", path], check=True)
        return dict(json.loads(path.read_text()))


def measure(parts: Iterable[str], tiny: bool, folder: Path) -> Record:
    """Run the benches of these parts. The record is written after each; figures of another commit are left out."""
    path = folder / RECORD
    record: Record = json.loads(path.read_text()) if path.exists() else {}
    for part in parts:
        words = PARTS[part][tiny].split()
        devices = (DEVICES[:1] if tiny else DEVICES) if part in OF_DEVICES else ("",)
        for device in devices:
            found = bench([*words, "--device", device] if device else words)
            if found["commit"].endswith("-dirty") and not tiny:
                raise SystemExit(f"the sources are those of {found['commit']}; commit them, then measure")
            kept = record["figures"] if record.get("commit") == found["commit"] else {}
            named = {f"{device}.{name}" if device else name: value for name, value in found["figures"].items()}
            loops = [value for name, value in named.items() if name.endswith("reference_us")]
            loops += record["reference_us"] if kept else []
            record = {
                "commit": found["commit"],
                "date": str(date.today()),
                "reference_us": [min(loops), max(loops)] if loops else [],
                "figures": dict(sorted((kept | named).items())),
            }
            path.write_text(json.dumps(record, indent=1) + "\n")
    return record


def rendered(page: str, record: Record) -> str:
    """Return the page with the tables of a record. Those of which it has no figure stay as they are."""

    def table_of(place: "re.Match[str]") -> str:
        found = TABLES[place[1]](record) if record else ""
        return f"<!-- speed {place[1]} -->\n\n{found}" if found else place[0]

    return PLACE.sub(table_of, page)


def when(record: Record) -> str:
    low, high = (f"{loop:,.0f}" for loop in record["reference_us"] or (0, 0))
    return (
        f"Measured on {record['date']} at commit {record['commit'][:8]} by `python docs/speed.py`. A fixed loop\n"
        f"(`message.reference_us`) took {low} to {high} us of CPU time beside it."
    )


def engine(record: Record) -> str:
    rows = {
        "a NIC whose processor works, and nothing else": "nic_cycles_per_second.1",
        "eight of them": "nic_cycles_per_second.8",
        "the same NIC's model in a bare loop": "bare_cycles_per_second",
        **{f"`{name}`, recorded": f"cycles_per_second.{name}" for name in TRAFFIC},
    }
    shown = ((f"`engine.{name}`: {what}", {f"engine.{name}": 1e6}) for what, name in rows.items())
    return table(record, ("figure", "NIC cycles a second"), shown, "{:.2f} M")


def start(record: Record) -> str:
    sizes = [*((f"{ranks} ranks", str(ranks)) for ranks in (2, 4, 16, 32)), ("a rank more", "rank")]
    rows = ((what, {f"start.{c}cpu_s.{size}": 1.0 for c in ("", "c_")}) for what, size in sizes)
    return table(record, ("CPU s", "Python", "C"), rows, "{:.3g}")


def message(record: Record) -> str:
    def row(device: str) -> tuple[str, dict[str, float]]:
        short, long = (f"{device}.message.cpu_us.{size}" for size in (SHORT, LONG))
        cells = {short + part: 1.0 for part in ("", ".engine", ".simulator", ".ranks", ".kernel")}
        cells[f"{device}.message.calls.{SHORT}"] = 1.0
        return f"`{device}`", cells | {long + part: 1e3 for part in ("", ".engine", ".outside")}

    head = ("device", "4 bytes, us", "engine", "simulator", "ranks", "kernel", "calls of a rank")
    return table(record, (*head, "64 KiB, ms", "engine", "outside"), map(row, DEVICES), "{:.3g}")


def scale(record: Record) -> str:
    def row(device: str, nics: int) -> tuple[str, dict[str, float]]:
        names = [f"{figure}.{nics}" for figure in ("cpu_s", "simulator_mb", "rank_mb")]
        names += [f"simulated_us.{nics}.{of}" for of in ("ring", "barrier", "allreduce", "halo")]
        return f"`{device}`, {nics}", {f"{device}.scale.{name}": 1.0 for name in names}

    head = ("device, NICs", "CPU s", "simulator MB", "rank MB", "ring", "barrier", "allreduce", "halo")
    return table(record, head, (row(device, nics) for device in DEVICES for nics in (2, 64)), "{:,.1f}")


def table(record: Record, head: Iterable[str], rows: Iterable[tuple[str, Mapping[str, float]]], form: str) -> str:
    """Return a table of Markdown, whose first column is text. A row has its text and the names of its figures, each
    with what it is divided by. Rows without a figure on record are left out."""
    figures: Figures = record["figures"]
    lines = [
        [what, *(form.format(figures[name] / unit) if name in figures else "" for name, unit in units.items())]
        for what, units in rows
        if any(name in figures for name in units)
    ]
    if not lines:
        return ""
    columns = list(head)
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- |", "|---|", 1)


TABLES: Mapping[str, Callable[[Record], str]] = {one.__name__: one for one in (when, engine, start, message, scale)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--tiny", type=Path, metavar="DIRECTORY", help="smallest settings; write to this directory")
    args = parser.parse_args()
    if wrong := [part for part in args.parts if part not in PARTS]:
        parser.error(f"{wrong[0]!r} is not a part; name some of {', '.join(PARTS)}")
    to = args.tiny or DOCS
    (to / PAGE).parent.mkdir(parents=True, exist_ok=True)
    record = measure(args.parts or PARTS, args.tiny is not None, to)
    (to / PAGE).write_text(rendered((DOCS / PAGE).read_text(), record))


if __name__ == "__main__":
    main()
