"""Figures: dotted names with numbers, as every measuring command writes them with --json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lanai_firmware import output_file

from .version import commit, version, versions

DIGEST = "run.digest"  # it says whether two runs are equal, not by how much they differ


def write_json(path: str | Path, figures: Mapping[str, float], config: Mapping[str, Any], **more: Any) -> None:
    """Write `{"figures", "config", "version", "versions", "commit"}` and `more` to `path`. Names are
    sorted so that two runs compare by text."""
    record = {
        "figures": dict(sorted(figures.items())), **more, "config": dict(config),
        "version": version(), "versions": versions(), "commit": commit(),
    }  # fmt: skip
    output_file.write(path, json.dumps(record, indent=2, default=str) + "\n", "the figures")
