"""From the typed tree to LLVM IR. Nothing here can be a user's error: the front end has found them
all.
"""
