"""What evaluates a machine: engines behind one interface."""
