"""The paper on the CCU MPI (Chang, Ding and Tsay, 1996): its claims, its experiments, what came of
them."""
