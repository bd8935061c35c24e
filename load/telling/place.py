"""Where it was measured: the machine, and the database with the settings that decide what a time means."""

from __future__ import annotations

import os
import platform
from importlib.resources import files
from pathlib import Path

import psycopg2

from load.probes.reading import Reader
from reports.measured.parts import Database, Machine

_VERSION = "server_version"


def machine() -> Machine:
    """This machine now: call it before the load, whose own load average is no news."""
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        processor=_entry("/proc/cpuinfo", "model name"),
        memory_bytes=_kib(_entry("/proc/meminfo", "MemTotal")),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        load_average=round(os.getloadavg()[0], 2),
    )


def database(url: str | None) -> Database | None:
    """The database behind a target; None where there is no access to it."""
    if url is None:
        return None
    try:
        with Reader(url) as reader:
            rows = reader.execute((files(__package__) / "settings.sql").read_text("utf-8"))
    except psycopg2.Error:
        return None
    settings = {row["name"]: f"{row['setting']}{_unit(row['unit'])}" for row in rows}
    return Database(version=settings.pop(_VERSION, "of an unknown version"), settings=settings)


def _unit(unit: str | None) -> str:
    """PostgreSQL gives sizes in pages: 16384 and 8kB are 128 MB."""
    return f" x {unit}" if unit else ""


def _entry(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def _kib(text: str | None) -> int | None:
    number = (text or "").partition(" ")[0]
    return int(number) * 1024 if number.isdigit() and int(number) else None
