"""Random traffic on MPICH, on `ideal` and on NICs: `python tests/host/traffic/runs.py FIRST LAST`
compares them by hand.

One binary runs everywhere. What it prints depends on the seed and the number of ranks only, so
every run must print what it prints on real MPICH.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lanai_sim.studies.benches.mpi import mpich

SOURCE = Path(__file__).with_name("traffic.c")
LAYOUTS = SOURCE.with_name("layouts.c")  # messages between random layouts of bytes
CLI = [sys.executable, "-m", "lanai_sim"]
ROUNDS = 2
LIMIT = 600  # seconds of real time after which a run has hung


@dataclass(frozen=True)
class Setting:
    """NICs with `ranks_per_nic` ranks each; of their packets a part of `corrupt` is damaged on the
    wire. `system`: options that name the device and the NICs."""

    nics: int
    ranks_per_nic: int
    corrupt: float = 0.0
    system: tuple[str, ...] = ("--device", "mpi-np")

    @property
    def ranks(self) -> int:
        return self.nics * self.ranks_per_nic

    @property
    def name(self) -> str:
        faults = f", {self.corrupt:.0%} corrupted" if self.corrupt else ""
        kind = "" if self.system == Setting.system else f", {self.system[-1]}"
        return f"{self.nics} NICs, {self.ranks_per_nic} ranks each{faults}{kind}"

    def options(self, seed: int) -> list[str]:
        given = [*self.system, "--ranks-per-node", str(self.ranks_per_nic), "--max-wall", str(LIMIT)]
        if self.corrupt:
            given += ["--firmware", "recovery=1", "--fault", f"corrupt * rate={self.corrupt} seed={seed}"]
        return given


SETTINGS = [Setting(nics, per, corrupt) for nics in (2, 4) for per in (1, 2) for corrupt in (0.0, 0.05)]
BIP_OPTIONS = ("credits=14", "credits=1", "short=0", "short=484", "packet=512", "credits=3")
T3D_SHELL = Setting(2, 1, system=("--device", "t3d", "--nic", "t3d_shell"))


def bip(ranks: int, seed: int) -> Setting:
    """Return a setting with BIP's firmware. The seed chooses an option, or the hosts of 1999."""
    ways = [("--device", "bip", "--option", option) for option in BIP_OPTIONS]
    return Setting(ranks, 1, system=[*ways, ("--system", "bip-1999")][seed % (len(ways) + 1)])


def compiled(folder: Path, *options: str, source: Path = SOURCE) -> Path:
    """The program, compiled with `lanai mpicc`."""
    program = folder / source.stem
    command = [*CLI, "mpicc", "-O1", "-Wall", "-Wextra", "-Werror", *options, str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return program


def output_of(command: list[str], **environment: str) -> str:
    """Return the output of a command, with its code if that is not 0."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    return done.stdout if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout}{done.stderr}"


def on_mpich(program: Path, seed: int, ranks: int, rounds: int = ROUNDS) -> str:
    found = mpich()
    if found is None:
        raise RuntimeError("the mpich wheel is not installed: pip install mpich")
    starter, libraries = found
    arguments = [str(starter), "-n", str(ranks), str(program), str(seed), str(rounds)]
    return output_of(arguments, LD_LIBRARY_PATH=str(libraries), MPIEXEC_TIMEOUT=str(LIMIT))


def on_lanai(program: Path, seed: int, ranks: int, options: list[str], rounds: int = ROUNDS) -> str:
    """Return the output of a program under `lanai run`, as `output_of` does.

    Where faults were asked for and none struck, the run shows nothing: that is an error.
    """
    command = [*CLI, "run", "-q", "-n", str(ranks), *options, str(program), str(seed), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "--fault" in options and "lanai: fault: corrupt of " not in done.stderr:
        raise RuntimeError(f"no packet was corrupted: {done.stderr}")
    return done.stdout if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout}{done.stderr}"


def main(first: int, last: int) -> int:
    """Seeds `first` to `last` in every setting; prints what differs from MPICH."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        for seed in range(first, last + 1):
            for setting in SETTINGS:
                expected = on_mpich(program, seed, setting.ranks)
                got = on_lanai(program, seed, setting.ranks, setting.options(seed))
                if got != expected:
                    failures += 1
                    print(f"seed {seed}, {setting.name}: MPICH\n{expected}NICs\n{got}", flush=True)
            print(f"seed {seed}: {failures} failures so far", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
