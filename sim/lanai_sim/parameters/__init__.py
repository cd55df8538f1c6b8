"""Every parameter of a configuration, with its unit, range and meaning, and how one is varied.

- `words`: units, and meanings that stand beside no declaration.
- `declared`: range, choices and meaning, as the class of a configuration has them.
- `listing`: all parameters by name.
- `varied`: `NAME=VALUE,VALUE` as values of a parameter.
"""
