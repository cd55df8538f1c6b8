"""The version of llvmlite that compiles firmware and models."""

import re
import tomllib
from pathlib import Path

import pytest

from lanai_firmware import package_images
from lanai_hdl.errors import UserError

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize(
    ("version", "old"), [("0.46.9", True), ("0.47.0", False), ("0.50.0rc1", False), ("1.0", False)]
)
def test_a_version_that_is_too_old_is_refused_in_one_line(version, old, monkeypatch):
    monkeypatch.setattr(package_images.llvmlite, "__version__", version)
    if old:
        with pytest.raises(UserError) as raised:
            package_images.llvm_version()
        assert str(raised.value) == (
            "llvmlite 0.46.9 is too old to compile with; write: pip install --upgrade 'llvmlite>=0.47'"
        )
    else:
        assert package_images.llvm_version() == version


def test_the_oldest_version_is_that_of_the_package():
    [needed] = [
        one for one in tomllib.loads(PROJECT.read_text())["project"]["dependencies"] if one.startswith("llvmlite")
    ]
    assert re.search(r">=([0-9.]+)", needed)[1] == ".".join(map(str, package_images.OLDEST))
