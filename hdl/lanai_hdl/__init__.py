"""The NIC as Amaranth components: synthesizable, and knowing nothing of the rooms above."""
