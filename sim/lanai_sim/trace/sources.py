"""The text of firmware source files, by the names that images give them."""

from importlib.resources import files


def text_of(file: str) -> str | None:
    """`lanai_firmware/programs/mpi_np/main.py` -> its text; None if there is no such file in the
    package."""
    package, *rest = file.split("/")
    if package != "lanai_firmware" or not rest:
        return None
    try:
        return files(package).joinpath(*rest).read_text(encoding="utf-8")
    except OSError:
        return None
