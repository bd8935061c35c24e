"""The JSON Schema of `report.json`, generated from the model and committed beside this file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reports.model import SCHEMA_VERSION, Report

SCHEMA_PATH = Path(__file__).parent / f"report-{SCHEMA_VERSION}.json"


def report_schema() -> dict[str, Any]:
    """Return the schema of what the writer writes, derived fields included."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:horde-conformance:report:{SCHEMA_VERSION}",
        **Report.model_json_schema(mode="serialization"),
    }


def schema_text() -> str:
    """Return the schema as the committed file holds it."""
    return json.dumps(report_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
