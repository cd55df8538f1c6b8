"""The parts that the engines add around the gateware, and its Verilog. Importing these modules means
importing Amaranth.

`lanai_sim.engines.designs` makes cache keys of all files here and in `lanai_hdl`: whatever decides
the Verilog belongs in one of the two.
"""
