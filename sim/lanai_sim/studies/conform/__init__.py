"""mpi4py's own test suite, on simulated NICs and on real MPICH: fetched as it is published, run
unchanged, counted.

`suite` knows the suite and what is left out of it, `jobs` runs modules, `outcome` reads what
unittest printed, `kept` holds it between runs, `page` writes the table and the comparison.
"""
