"""emcee: a short chain whose walkers are evaluated by the workers of schwimmbad's MPIPool."""

import sys

import emcee
import numpy as np
from schwimmbad import MPIPool


def log_probability(x):
    return -0.5 * float(np.sum(x * x))


with MPIPool() as pool:
    if not pool.is_master():
        pool.wait()
        sys.exit(0)
    np.random.seed(7)
    sampler = emcee.EnsembleSampler(8, 2, log_probability, pool=pool)
    sampler.run_mcmc(np.random.randn(8, 2), 10)
    print(f"mean {sampler.get_chain(flat=True).mean():.12f}")
