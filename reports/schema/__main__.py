"""`python -P -m reports.schema` writes the schemas of `report.json` and `load-report.json` from the models."""

from __future__ import annotations

from reports.schema import LOAD_SCHEMA_PATH, SCHEMA_PATH, load_schema_text, schema_text
from reports.write import write_text

if __name__ == "__main__":
    write_text(SCHEMA_PATH, schema_text())
    write_text(LOAD_SCHEMA_PATH, load_schema_text())
