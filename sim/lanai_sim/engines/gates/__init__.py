"""The gateware's models by LLVM: Amaranth's RTLIL (`rtlil`) as one flat netlist (`netlist`, made of `sources`), whose
values (`values`, written by `code`) make one function that is a slot (`step`), compiled by llvmlite (`compiled`).
"""
