"""The page of a load report: every drawing has what it was given, and no text is more than a text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reports.measured import database, growth, knees, strips, time_series
from reports.measured.canvas import label, number, seconds, size_of, thinned
from reports.measured.model import LoadReport
from reports.measured.page import LARGEST, page
from reports.measured.parts import Duet, Phase, Run, Sessions, Sweep
from reports.measured.write import write_load_report
from tests.reports import hand_written as written
from tests.reports.browser import looked_at, needs_browser

SVG = "{http://www.w3.org/2000/svg}"


class Drawing:
    """A drawing that is looked into: the parts of a name, their points, and the texts."""

    def __init__(self, svg: str | None) -> None:
        assert svg is not None
        self.text = svg
        self.root = ET.fromstring(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))  # noqa: S314

    def part(self, name: str) -> ET.Element:
        found = [e for e in self.root.iter() if e.get("id", "").endswith(f"-{name}")]
        assert len(found) == 1, name
        return found[0]

    def has(self, name: str) -> bool:
        return any(e.get("id", "").endswith(f"-{name}") for e in self.root.iter())

    def points(self, name: str) -> int:
        """Points of a line, or marks where there is no line."""
        return len(list(self.part(name).iter(f"{SVG}use"))) or self.corners(name)

    def corners(self, name: str) -> int:
        """Points of an outline."""
        return sum(len(re.findall(r"[ML]", path.get("d", ""))) for path in self.part(name).iter(f"{SVG}path"))

    @property
    def texts(self) -> set[str]:
        return {"".join(e.itertext()) for e in self.root.iter(f"{SVG}text")}


def test_counts_are_points_and_their_line_is_straight() -> None:
    drawing = Drawing(growth.amplification((written.amplified(), written.amplified("chat job", 1.021))))
    assert [drawing.points(f"counts-{place}") for place in (0, 1)] == [len(written.PAYLOADS)] * 2
    assert [drawing.points(f"line-{place}") for place in (0, 1)] == [2, 2]
    assert {"empty pop: 0.000", "chat job: 1.021", "payload", "bytes per pop", "1 MiB"} <= drawing.texts


def test_each_series_of_a_sweep_has_a_band_and_a_point_a_level() -> None:
    drawing = Drawing(growth.sweep(written.sweeps()[0]))
    for place in (0, 1):
        assert drawing.points(f"middle-{place}") == 5
        assert drawing.corners(f"band-{place}") == 2 * 5 + 2
    assert {"1 KiB", "64 KiB", "1 MiB", "payload", "service time of a pop", "10 ms"} <= drawing.texts


def test_levels_are_named_from_none_to_many() -> None:
    drawing = Drawing(growth.sweep(written.sweeps()[2]))
    assert {"0", "10", "100", "1,000", "10,000", "rows refused ahead", "statements of a pop"} <= drawing.texts


def test_a_run_shows_its_outcomes_quantiles_and_phases() -> None:
    drawing = Drawing(time_series.time_series(written.run(120)))
    names = ["rate-0", "rate-1", *(f"{of}-p{q}" for of in ("response", "service") for q in (50, 90, 99))]
    assert {drawing.points(name) for name in names} == {120}
    # One mark for each second with an error, and one in the legend's line.
    assert len(list(drawing.part("rate-2").iter(f"{SVG}use"))) == 2
    assert drawing.points("offered") == 2 * 4
    assert [drawing.has(f"phase-{place}") for place in range(4)] == [True, False, True, False]
    assert drawing.texts >= {"warm-up", "steady", "pressure", "relief", "crashed (error)", "seconds of the run"}
    assert drawing.texts >= {"calls a second", "1 s", "10 ms", "offered"}


def test_two_hours_are_thinned_and_no_error_is_lost() -> None:
    drawing = Drawing(time_series.time_series(written.run(7200)))
    assert drawing.points("response-p99") == 240
    assert len(list(drawing.part("rate-2").iter(f"{SVG}use"))) > 100


def test_a_closed_loop_offers_no_rate() -> None:
    assert not Drawing(time_series.time_series(written.run(10, loop="closed"))).has("offered")


def test_a_duet_shows_each_ratio_within_or_beyond_its_margin() -> None:
    drawing = Drawing(strips.forest(written.duet()))
    assert [drawing.points(f"ratio-{place}") for place in range(4)] == [1] * 4
    assert [drawing.points(f"interval-{place}") for place in range(4)] == [2] * 4
    assert all(drawing.corners(f"margin-{place}") == 4 for place in range(4))
    assert {"slower +9.3% (+8.5% to +10.2%)", "CPU time per call: A against A", "difference from A"} <= drawing.texts


def test_the_generator_shows_each_process_on_its_side_of_the_limit() -> None:
    drawing = Drawing(strips.health(written.run(2)))
    # Achieved rate, loop lag, CPU.
    assert [drawing.points(f"strain-{place}-within") for place in range(3)] == [1, 1, 2]
    assert drawing.points("strain-1-beyond") == 1
    assert not drawing.has("strain-2-beyond")
    assert "3.1 ms in process 1, at most 500 µs" in drawing.texts


def outline(drawing: Drawing, name: str) -> str:
    return " ".join(path.get("d", "") for path in drawing.part(f"sessions-{name}").iter(f"{SVG}path"))


def test_a_chain_of_a_second_is_seen_among_the_sessions_of_an_hour() -> None:
    run = written.run(3600)
    drawing = Drawing(database.sessions(run, most=60))
    assert "at most 4 sessions active, 3 waiting for a lock, 2 one behind the other; 1 deadlocks" in drawing.text
    assert 50 <= drawing.corners("sessions-waiting") <= 61
    heights = {re.sub(r".* ", "", point) for point in re.findall(r"[ML] ([\d. ]+\d)", outline(drawing, "waiting"))}
    assert len(heights) == 2


def test_a_ramp_shows_each_step_and_where_the_knee_lies() -> None:
    drawing = Drawing(knees.knee(written.knee()))
    assert "between 10 and 20" in drawing.text
    assert {state: drawing.points(f"steps-{state}") for state in ("held", "broke", "unknown")} == {
        "held": 3, "broke": 1, "unknown": 1,
    }  # fmt: skip
    assert drawing.has("interval")
    assert drawing.has("best")


def test_drawn_again_it_is_the_same() -> None:
    assert page(written.full(10)) == ten_seconds()


EMPTY: dict[str, Callable[[], str | None]] = {
    "no counts": lambda: growth.amplification(()),
    "no points": lambda: growth.sweep(Sweep(slug="x", over="x", level_unit="rows", figure="x", curves=())),
    "no moments": lambda: time_series.time_series(written.run(0, phases=())),
    "no measures": lambda: strips.forest(Duet(a="", b="", answer="no verdict", reason="", measures=(), rounds=0)),
    "no checks": lambda: strips.health(written.run(2, checks=())),
    "no look": lambda: database.sessions(written.run(2, sessions=written.sessions(2)[-1:])),
    "no step": lambda: knees.knee(written.knee().model_copy(update={"steps": ()})),
}


@pytest.mark.parametrize("drawn", EMPTY.values(), ids=EMPTY)
def test_of_nothing_nothing_is_drawn(drawn: Callable[[], str | None]) -> None:
    assert drawn() is None


ODD: dict[str, LoadReport] = {
    "bare": written.bare(),
    "one second": written.bare(runs=(written.run(1),)),
    "no call done": written.bare(
        runs=(
            written.run(
                5,
                moments=tuple(m.model_copy(update={"service": None, "response": None}) for m in written.moments(5)),
            ),
        )
    ),
    "nothing but zeros": written.bare(
        runs=(
            written.run(
                4,
                moments=tuple(
                    m.model_copy(
                        update={
                            "counts": {"done": 0},
                            "service": written.quantiles(0),
                            "response": written.quantiles(0),
                        }
                    )
                    for m in written.moments(4)
                ),
            ),
        ),
        amplification=(written.amplified(intercept=0.0),),
        sweeps=(written.sweeps()[0].model_copy(update={"curves": (written.curve("x", (0, 0), (0, 0)),)}),),
    ),
    "one level": written.bare(
        sweeps=(written.sweeps()[0].model_copy(update={"curves": (written.curve("x", (1024,), (0.001,)),)}),)
    ),
    "no phase": written.bare(runs=(Run(slug="r", name="r", scenario="s", moments=written.moments(3)),)),
    "one look, at nobody": written.bare(
        runs=(written.run(2, sessions=(Sessions(second=-0.5, took_seconds=0.0),), counts=(), statements=()),)
    ),
    "a knee below all": written.bare(
        runs=(written.run(2),),
        knees=(written.knee().model_copy(update={"best": None, "held": None, "steps": written.knee().steps[:1]}),),
    ),
    "a dead generator": written.bare(
        runs=(written.run(2, checks=(written.checks()[0].model_copy(update={"value": 0.0}),)),)
    ),
}


@pytest.mark.parametrize("report", ODD.values(), ids=ODD)
def test_odd_figures_make_a_page_without_a_nan(report: LoadReport) -> None:
    html = page(report)
    assert not re.search(r"\b(nan|inf|None)\b", html)


class Looked(HTMLParser):
    """A page as a parser sees it: what would run or be fetched, its ids, its links, its headings and heads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def hostile() -> LoadReport:
    text, run = written.HOSTILE, written.run(30)
    operations = tuple(one.model_copy(update={"operation": text, "phase": text}) for one in run.operations)
    moments = tuple(one.model_copy(update={"counts": {"done": 5, text: 2}}) for one in run.moments)
    phases = (Phase(name=text, begin=0, end=30, rate=5),)
    checks = tuple(check.model_copy(update={"measure": text, "unit": text}) for check in run.checks)
    counts = tuple(one.model_copy(update={"phase": text, "name": text}) for one in run.counts)
    statements = tuple(one.model_copy(update={"phase": text, "statement": text}) for one in run.statements)
    sessions = tuple(one.model_copy(update={"waits": {text: 1}, "failed": text}) for one in run.sessions[:1])
    wild = {
        "name": text, "scenario": text, "remarks": (text,), "operations": operations, "counts": counts,
        "statements": statements, "sessions": (*sessions, *run.sessions),
    }  # fmt: skip
    steps = tuple(step.model_copy(update={"reason": text}) for step in written.knee().steps)
    return written.full(
        command=text,
        title=text,
        runs=(run.model_copy(update={**wild, "moments": moments, "phases": phases, "checks": checks}),),
        findings=(written.finding("fail", name=text, sentence=text, requirement=text),),
        amplification=(written.amplified(text, 1.0),),
        sweeps=tuple(
            s.model_copy(update={"over": text, "figure": text, "curves": (written.curve(text, (1, 9), (1, 2)),)})
            for s in written.sweeps()
        ),
        duet=written.duet().model_copy(update={"a": text, "b": text, "answer": text, "reason": text}),
        knees=(written.knee().model_copy(update={"name": text, "sentence": text, "steps": steps}),),
        unmeasured=(text,),
    )


def test_a_hostile_text_is_a_text() -> None:
    html = page(hostile())
    looked = Looked(html)
    assert looked.all("script") == []
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert not [name for _, attributes in looked.tags for name in attributes if name.startswith("on")]


@pytest.mark.parametrize("report", [written.full(60), hostile()], ids=["full", "hostile"])
def test_nothing_is_fetched_and_every_link_leads_somewhere(report: LoadReport, tmp_path: Path) -> None:
    files = write_load_report(report, tmp_path)
    looked = Looked(files.page.read_text("utf-8"))
    ids = [attributes["id"] for _, attributes in looked.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in looked.all("a"):
        href = link["href"] or ""
        assert href[1:] in ids if href.startswith("#") else (tmp_path / href).is_file(), href
    for tag, attributes in looked.tags:
        for name in ("src", "href", "xlink:href"):
            value = attributes.get(name) or "#"
            assert tag == "a" or value.startswith(("#", "data:")), (tag, value)
    for use in looked.all("use"):
        assert (use["xlink:href"] or "")[1:] in ids
    assert not re.search(r"@import|url\((?!#)", files.page.read_text("utf-8"))


@cache
def ten_seconds() -> str:
    """A page that several look at: drawing takes longer than looking."""
    return page(written.full(10))


def test_the_first_screen_says_what_and_where() -> None:
    html = ten_seconds()
    first = html[: html.index("<main>")]
    for said in (
        "INVALID: Of process 1: its loop was 3.10 ms late",
        "2 cores", "Linux 6.1.0", "18.6", "fsync off", "not those of a durable database",
        "horde-conformance load run default --seed 7",
    ):  # fmt: skip
        assert said in first, said


def test_a_reader_who_cannot_see_is_told() -> None:
    looked = Looked(ten_seconds())
    assert len(looked.all("h1")) == 1
    assert len(looked.all("figure")) == len(looked.all("svg")) == 9
    ids = {attributes.get("id") for _, attributes in looked.tags}
    for svg in looked.all("svg"):
        assert svg["role"] == "img"
        assert set((svg["aria-labelledby"] or "").split()) <= ids
    for head in looked.all("th"):
        assert head["scope"] in {"col", "row"}
    assert looked.all("html")[0]["lang"] == "en"


def test_colours_are_the_pages() -> None:
    html = ten_seconds()
    drawn = html[html.index("<main>") :]
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawn)) <= {"#ffffff", "#000000"}
    used, known = set(re.findall(r"var\(--([\w-]+)\)", html)), set(re.findall(r"--([\w-]+):", html))
    assert used <= known


def test_two_hours_of_several_runs_stay_below_the_size() -> None:
    runs = tuple(written.run(7200, slug=f"run-{place}", name=f"run {place}") for place in range(3))
    findings = tuple(written.finding(sentence="x" * 5000) for _ in range(200))
    html = page(written.full(runs=runs, findings=findings, knees=()))
    assert len(html.encode()) < LARGEST


def test_figures_have_units_that_suit_them() -> None:
    assert [seconds(value) for value in (0, 0.0000123, 0.00234, 0.9996, 12.3)] == [
        "0", "12.3 µs", "2.34 ms", "1 s", "12.3 s",
    ]  # fmt: skip
    assert [size_of(value) for value in (0, 512, 2048, 3 * 2**20)] == ["0 B", "512 B", "2 KiB", "3 MiB"]
    assert [number(value) for value in (3, 0.25, 10000)] == ["3", "0.25", "10,000"]
    assert label("_hidden from a legend").strip("\u200b") == "_hidden from a legend"
    assert [len(group) for group in thinned(range(10), 4)] == [3, 3, 3, 1]
    assert thinned([], 4) == []


@needs_browser
@pytest.mark.parametrize("report", [written.full(60), hostile()], ids=["full", "hostile"])
def test_a_browser_shows_it_without_a_complaint_and_asks_no_network(report: LoadReport, tmp_path: Path) -> None:
    document, complaints, asked = looked_at(write_load_report(report, tmp_path).page, tmp_path)
    assert complaints == ""
    assert asked == set()
    assert len(re.findall("<svg ", document)) == 9


@needs_browser
def test_a_page_that_asks_and_complains_would_be_found_out(tmp_path: Path) -> None:
    page = tmp_path / "asking.html"
    page.write_text("<img src='http://elsewhere.invalid/x.png'><script>missing()</script>")
    _, complaints, asked = looked_at(page, tmp_path)
    assert "missing is not defined" in complaints
    assert asked == {"elsewhere.invalid"}
