"""The NIC that one would build today: it matches messages with receives."""
