"""The experiment of the planted faults: each beside the reference at each payload, kept as it comes, resumable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from conformance.profile import Profile
from fixtures.faults.performance import SLOW
from fixtures.postgres import Server
from load.errors import BadPlan
from load.sweeps import finding
from load.sweeps.finding import Found
from load.sweeps.regressions import REFERENCE, Measured, Plan, measure
from load.sweeps.scene import FLYING


def wanted(names: Sequence[str]) -> list[str]:
    """The faults of these names, all of them where none is given, after the reference beside itself.

    Raises:
        BadPlan: there is none of that name.
    """
    known = (REFERENCE, *SLOW)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BadPlan(f"There is no performance fault {unknown[0]!r}.", f"There are {', '.join(known)}.")
    return list(names or known)


def kept(file: Path) -> list[Measured]:
    """What was measured before; a last line that was cut off is measured again."""
    found = []
    if file.exists():
        for line in file.read_text("utf-8").splitlines():
            try:
                found.append(Measured.model_validate_json(line))
            except ValidationError:
                continue
    return found


def play(
    names: Sequence[str], payloads: Sequence[int], profile: Profile, postgres: Server, plan: Plan, file: Path
) -> Iterator[Measured]:
    """Measure what the file does not hold yet, line by line; all that was asked for, in its order of measurement."""
    before = {(one.fault, one.payload_bytes): one for one in kept(file)}
    counted = {one.payload_bytes: one.reference for one in before.values()}
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        for payload in payloads:
            for name in names:
                one = before.get((name, payload))
                if one is None:
                    one = measure(name, payload, profile, postgres, plan, counted.get(payload))
                    counted[payload] = one.reference
                    lines.write(one.model_dump_json() + "\n")
                    lines.flush()
                yield one


# ---------------------------------------------------------------------------------------- the table

_HEAD = """# Performance faults

Errors that cost time and change no answer, each put into the reference server from outside and measured beside the
unchanged one, by `horde-conformance load regressions --write`. Counts are per call and the same every time. CPU and
time are ratios of paired blocks ({pairs} pairs, on a crowded machine) with a 95 % interval, and are said only where the
whole interval lies beyond the margin ({cpu:.0%} for CPU, {time:.0%} for time). The queue: 60 refused rows, two small
requests, 40 that carry the payload as the refused ones do, and 600 small ones; the cancel is of a stream with {flying}
generations in flight.

"""


def table(measured: Sequence[Measured]) -> str:
    """The documented table, a row for each fault: everything that finds it, the counts first, by payload."""
    payloads = sorted({one.payload_bytes for one in measured})
    pairs = min((len(block.cpu) for one in measured for block in one.blocks.values()), default=0)
    text = _HEAD.format(cpu=finding.CPU_MARGIN, time=finding.TIME_MARGIN, flying=FLYING, pairs=pairs)
    text += f"| fault | the error | {' | '.join(f'{size // 1024} KiB' for size in payloads)} |\n"
    text += "|---|---|" + "---|" * len(payloads) + "\n"
    for name in dict.fromkeys(one.fault for one in measured):
        summary = SLOW[name].summary if name in SLOW else "The unchanged server beside another launch of itself."
        cells = [
            next((_cell(finding.found(one)) for one in measured if (one.fault, one.payload_bytes) == (name, size)), "")
            for size in payloads
        ]
        text += f"| {name} | {summary} | {' | '.join(cells)} |\n"
    return text


def _cell(findings: Sequence[Found]) -> str:
    return "<br>".join(f"**{one.measure}** ({one.call.value}) {one.told}" for one in findings) or "nothing"
