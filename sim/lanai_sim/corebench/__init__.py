"""The processor alone with its memory: gateware against the golden model."""
