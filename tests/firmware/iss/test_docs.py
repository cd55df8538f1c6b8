"""The samples of the golden model's page run."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "golden-model.md"
SAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("sample", SAMPLES, ids=range(len(SAMPLES)))
def test_sample(sample):
    exec(compile(sample, str(PAGE), "exec"), {"__name__": "sample"})


def test_there_are_samples():
    assert len(SAMPLES) == 4
