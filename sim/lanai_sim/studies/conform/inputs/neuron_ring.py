"""NEURON: a ring of cells, divided among the ranks, around which a spike goes."""

from neuron import h

CELLS = 8

h.load_file("stdrun.hoc")
h.nrnmpi_init()
pc = h.ParallelContext()
rank, size = int(pc.id()), int(pc.nhost())
somas, synapses, connections = {}, {}, []
for gid in range(rank, CELLS, size):
    soma = somas[gid] = h.Section(name=f"soma{gid}")
    soma.L = soma.diam = 12.6157
    soma.insert("hh")
    synapses[gid] = h.ExpSyn(soma(0.5))
    pc.set_gid2node(gid, rank)
    pc.cell(gid, h.NetCon(soma(0.5)._ref_v, None, sec=soma))
for gid, synapse in synapses.items():
    connection = pc.gid_connect((gid - 1) % CELLS, synapse)
    connection.weight[0], connection.delay = 0.05, 2
    connections.append(connection)
if 0 in synapses:
    stimulus = h.NetStim()
    stimulus.number, stimulus.start = 1, 1
    first = h.NetCon(stimulus, synapses[0])
    first.weight[0], first.delay = 0.05, 1
times, gids = h.Vector(), h.Vector()
pc.spike_record(-1, times, gids)
pc.set_maxstep(10)
h.finitialize(-65)
pc.psolve(30)
found = pc.py_gather([(round(time, 6), int(gid)) for time, gid in zip(times, gids, strict=True)], 0)
if rank == 0:
    for time, gid in sorted(spike for spikes in found for spike in spikes):
        print("spike", gid, time)
pc.barrier()
h.quit()
