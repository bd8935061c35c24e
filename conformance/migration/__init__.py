"""The migration's suite behind one door: read the files, rehearse them on databases of the harness's own."""

from __future__ import annotations

from conformance.migration.files import BadMigration, locate
from conformance.migration.rehearsal import Database, Rehearsal, build, check, connect, parse

__all__ = ["BadMigration", "Database", "Rehearsal", "build", "check", "connect", "locate", "parse"]
