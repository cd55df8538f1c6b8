"""`python -m lanai_sim` is the command `lanai`, of this Python."""

import sys

from .programs import lanai

if __name__ == "__main__":  # workers of mpi4py.futures import it too
    sys.exit(lanai())
