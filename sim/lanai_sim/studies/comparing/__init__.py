"""One program under several systems, side by side."""
