"""Functions that compiled firmware calls without naming them: division, block copy and fill, and LLVM's
library functions.

All of it is firmware itself, in the same language.
"""
