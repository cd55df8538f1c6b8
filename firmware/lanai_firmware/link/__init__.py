"""From objects to an image: read, lay out, relocate, account for the stack, keep the lines."""
