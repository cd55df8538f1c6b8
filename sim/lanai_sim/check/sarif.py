"""Findings as SARIF 2.1.0, which code hosts and editors show beside the lines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..version import version
from .finding import Finding, Kind

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def document(findings: Sequence[Finding], notes: Sequence[Finding] = ()) -> dict[str, Any]:
    driver = {
        "name": "lanai check",
        "version": version(),
        "rules": [{"id": str(kind), "shortDescription": {"text": str(kind).replace("-", " ")}} for kind in Kind],
    }
    results = [_result(one, "error") for one in findings] + [_result(one, "note") for one in notes]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _result(one: Finding, level: str) -> dict[str, Any]:
    places = [place for place in map(_location, one.lines) if place is not None]
    found: dict[str, Any] = {
        "ruleId": str(one.kind),
        "level": level,
        "message": {"text": f"{one.text}. {one.hint[:1].upper()}{one.hint[1:]}."},
        "locations": places[:1],
    }
    if places[1:]:
        found["relatedLocations"] = places[1:]
    return found


def _location(line: str) -> dict[str, Any] | None:
    file, _, number = line.rpartition(":")
    if not number.isdecimal():
        return None
    uri = Path(file).as_uri() if file.startswith("/") else quote(file)
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": int(number)}}}
