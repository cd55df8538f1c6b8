"""The segment: one wire that all NICs share, as Ethernet's. A packet goes to any set of them at
once."""
