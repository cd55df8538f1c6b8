"""The link: flits out and in, CRC, STOP/GO flow control, rate limit."""
