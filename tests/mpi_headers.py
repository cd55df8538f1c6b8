"""MPICH's headers, each read once in a process: it takes seconds."""

import functools

from lanai_host.abi import header

read = functools.cache(header.read)
