"""The NIC's memory: for simulators, as block RAM, and as a module of Verilog."""
