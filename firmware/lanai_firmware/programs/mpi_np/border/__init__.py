"""The border with the host: requests copied once, records, slots."""
