"""The text about an error in a student's work."""

from lanai_sim.labs.outcome import TooLong
from lanai_sim.labs.reading_errors import sentence


def raised(code: str, file: str) -> TooLong:
    try:
        exec(compile(code, file, "exec"), {"TooLong": TooLong})
    except TooLong as error:
        return error
    raise AssertionError("nothing was raised")


def test_generated_code_is_not_taken_for_a_line_of_the_student(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # as the work's process does
    error = raised("raise TooLong('it takes too long')", "<incremental>")
    assert sentence(error, tmp_path, "it never settles") == "it takes too long; it never settles"


def test_a_line_in_the_students_folder_is_quoted(tmp_path):
    file = tmp_path / "dma.py"
    file.write_text("raise TooLong('it takes too long')\n")
    error = raised(file.read_text(), str(file))
    assert sentence(error, tmp_path, "it never settles") == (
        "it takes too long, at dma.py:1: raise TooLong('it takes too long')"
    )
