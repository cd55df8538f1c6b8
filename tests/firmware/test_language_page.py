"""docs/firmware-language.md: every sample runs, in three ways, and prints what the page says."""

import doctest
import re
from pathlib import Path

import pytest

from lanai_firmware.compiler import build, load_module
from lanai_firmware.lang import Machine
from lanai_firmware.native import NativeProgram

PAGE = Path(__file__).parents[2] / "docs" / "firmware-language.md"
SAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\nmain\(\) = (\d+)\n```", PAGE.read_text(), re.DOTALL)


def test_every_program_has_its_result():
    assert len(SAMPLES) == PAGE.read_text().count("```python\n") >= 4


@pytest.mark.parametrize("index", range(len(SAMPLES)))
def test_sample(tmp_path, lanai, index):
    text, result = SAMPLES[index]
    path = tmp_path / f"sample_{index}.py"
    path.write_text(text)
    module = load_module(path)
    with Machine():
        assert module.main() == int(result)
    assert NativeProgram(path).run(Machine()) == int(result)
    assert lanai(build(path)).run() == int(result)


def test_python_session():
    (session,) = re.findall(r"```pycon\n(.*?)```", PAGE.read_text(), re.DOTALL)
    test = doctest.DocTestParser().get_doctest(session, {}, "session", str(PAGE), 0)
    assert doctest.DocTestRunner().run(test).failed == 0
