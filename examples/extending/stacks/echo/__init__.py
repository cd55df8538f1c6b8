"""`echo`: the smallest messaging system with a NIC. Every packet is acknowledged; one is
outstanding at a time."""
