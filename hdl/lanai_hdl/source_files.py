"""Source files and their content, for keys of what is made of them. Every run makes such keys, so this
is quick."""

import hashlib
import os
from collections.abc import Collection, Iterator


def below(directory: str, name: str, suffixes: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each file with such a suffix: its name, which begins with `name`, and where it is."""
    for entry in os.scandir(directory):  # Path.rglob takes ten times as long
        if entry.is_dir(follow_symlinks=False):
            yield from below(entry.path, f"{name}/{entry.name}", suffixes)
        elif os.path.splitext(entry.name)[1] in suffixes:
            yield f"{name}/{entry.name}", entry.path


def add(digest: "hashlib._Hash", name: str, path: str) -> None:
    """A file's name and content."""
    with open(path, "rb", buffering=0) as file:
        content = file.read()
    digest.update(f"{name} {len(content)}\n".encode() + content)
