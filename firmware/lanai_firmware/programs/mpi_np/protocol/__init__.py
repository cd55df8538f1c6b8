"""The protocols of a message: eager, rendezvous, receiver's pull."""
