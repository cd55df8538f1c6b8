"""The starting code of a lab, copied to where the student works."""

import shutil
from pathlib import Path

from lanai_host.errors import UserError

from .task import Task


def usual_folder(task: Task) -> Path:
    return Path(f"lab{task.number}-{task.name}")


def start(task: Task, folder: Path) -> list[Path]:
    """Copy a lab's starting code to a folder, which is made if there is none. Raises UserError rather than replace
    a file."""
    files = sorted(file for file in task.start.iterdir() if file.is_file())
    for file in files:
        if (folder / file.name).exists():
            raise UserError(f"{str(folder / file.name)!r} exists already and is not replaced; name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copyfile(file, folder / file.name)) for file in files]
    except OSError as error:
        raise UserError(f"cannot write to {str(folder)!r}: {error.strerror}; name another folder") from error


def work_of(task: Task, folder: Path | None) -> Path:
    """Return the folder of a student's work: the one that is named, else this one or the usual one, whichever has
    the lab's files. Raises UserError if a file is missing."""
    places = [folder] if folder is not None else [Path(), usual_folder(task)]
    for place in places:
        if all((place / name).is_file() for name in task.files):
            return place.resolve()
    missing = next(name for name in task.files if not (places[0] / name).is_file())
    raise UserError(
        f"no {missing} in {' or '.join(repr(str(place.resolve())) for place in places)}; "
        f"`lanai lab start {task.number}` copies the starting code"
    )
