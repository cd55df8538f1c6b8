"""How a message travels: eager, rendezvous, receiver's pull."""
