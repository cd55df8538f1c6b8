"""Numbers that a program prints for those who measure with it."""

import json


def numbers(text: str) -> dict[str, float]:
    """Return the numbers of the lines that are JSON objects, by name."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        try:
            values = json.loads(line)
        except ValueError:
            continue
        if isinstance(values, dict):
            found |= {name: value for name, value in values.items() if isinstance(value, int | float)}
    return found
