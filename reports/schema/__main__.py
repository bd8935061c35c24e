"""`python -P -m reports.schema` writes the schema of `report.json` from the model."""

from __future__ import annotations

from reports.schema import SCHEMA_PATH, schema_text
from reports.write import write_text

if __name__ == "__main__":
    write_text(SCHEMA_PATH, schema_text())
