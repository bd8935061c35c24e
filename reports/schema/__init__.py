"""The JSON Schemas of `report.json` and `load-report.json`, generated from the models and committed here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from reports.measured import model as measured
from reports.model import SCHEMA_VERSION, Report

SCHEMA_PATH = Path(__file__).parent / f"report-{SCHEMA_VERSION}.json"
LOAD_SCHEMA_PATH = Path(__file__).parent / f"load-report-{measured.SCHEMA_VERSION}.json"


def report_schema() -> dict[str, Any]:
    """Return the schema of what the writer writes, derived fields included."""
    return _schema(Report, f"report:{SCHEMA_VERSION}")


def load_report_schema() -> dict[str, Any]:
    """Return the schema of a load report, derived fields included."""
    return _schema(measured.LoadReport, f"load-report:{measured.SCHEMA_VERSION}")


def schema_text() -> str:
    """Return the schema of a report as the committed file holds it."""
    return _text(report_schema())


def load_schema_text() -> str:
    """Return the schema of a load report as the committed file holds it."""
    return _text(load_report_schema())


def _schema(model: type[BaseModel], name: str) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:horde-conformance:{name}",
        **model.model_json_schema(mode="serialization"),
    }


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
