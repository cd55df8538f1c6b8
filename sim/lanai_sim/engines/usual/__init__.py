"""Most slots of a NIC find most of its registers as they usually are: engines idle, FIFOs empty,
nothing at the host bus. So the C++ of a slot is compiled twice: once for any state, and once with
these registers as constants, from which the compiler drops what idle blocks would compute. A
comparison of the registers at the start of each slot chooses. What a slot does stays the same.

`rewrite` writes the second version. `values.txt` has the registers and their usual values; a value
that is not usual any more costs speed and nothing else. `choose` finds them in recorded inputs
(`lanai replay usual`).
"""
