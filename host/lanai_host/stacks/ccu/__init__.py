"""`ccu`: the MPI of Chung Cheng University (Chang, Ding and Tsay, 1996): a multicast daemon on each
node, broadcast on the wire."""
