"""What the host writes and reads: requests copied once, records, slots."""
