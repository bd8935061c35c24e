"""The page of a report: everything that was judged is on it, and what a target sent is text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.evidence import Deciding, Evidence, Repro, Rows
from reports.load import read_report
from reports.model import READABLE, Exchange, Report
from reports.page.page import LARGEST, page
from reports.page.sequence import sequence
from tests.reports.browser import looked_at, needs_browser

if TYPE_CHECKING:
    from tests.reports.conftest import Maker

PUBLISHED = Path(__file__).with_name("published")
HOSTILE = (
    "<script>document.title='run'</script><img src=http://elsewhere.invalid/x onerror=\"document.title='run'\">"
    '</pre></svg></style>{{ 7777*7777 }}{% raw %}javascript:alert(1)" onmouseover="alert(1)\x1b[31m\u202e]]>'
)


class Looked(HTMLParser):
    """A page as a parser sees it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def evidence(text: str = "words") -> Evidence:
    return Evidence(
        expected=text, came=text, deciding=[Deciding(exchange=0, place=text, came=text)], har=text,
        repro=Repro(file=text, script=text, needs=[text], rounds=3), no_repro=text,
        server=[Rows(table=text, columns=[text], rows=[[text], [None]], cut=text)], cut=text,
    )  # fmt: skip


def hostile(make: Maker, text: str = HOSTILE) -> Report:
    exchange = make.exchange(
        actor=text, method=text, url=text, request_headers={text: text}, request_body=text,
        response_headers={text: text}, response_body=text, error=text,
    )  # fmt: skip
    check = make.check(
        "failed", name=text, story=text, reason=text, again=text, notes={text: text}, exchanges=[exchange],
        evidence=evidence(text),
    )  # fmt: skip
    row = make.row("FAM-01", check, statement=text, record=[text], reason=text)
    known = [{"id": text, "reason": text, "link": text, "expires": "2026-12-31"}]
    target = {"url": text, "kind": "url", "profile": text, "fault": text}
    return make.report(row, make.row("FAM-02", verdict="not_declared", reason=text), target=target,
                       known_failures=known)  # fmt: skip


def test_the_verdict_comes_first_and_every_requirement_stands_once(make: Maker) -> None:
    looked = Looked(page(make.mixed()))
    assert looked.text.index("not conformant: 2 requirements failed or could not run") < looked.text.index("FAM-01")
    ids = [a["id"] for _, a in looked.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    rows = {"wrong-FAM-02", "wrong-FAM-03", "FAM-01", "POP-01", "POP-02", "REQ-01", "REQ-02", "REQ-04"}
    assert rows <= set(ids)
    assert {"#wrong-FAM-02", "#wrong-FAM-03"} <= {a["href"] for a in looked.all("a")}


def test_a_failure_shows_sentence_evidence_and_drawing(make: Maker) -> None:
    check = make.check("failed", exchanges=[make.exchange()], evidence=evidence("some words"), story="A story.")
    text = Looked(page(make.report(make.row("FAM-01", check, record=["A chat id is not found."])))).text
    for said in ("A chat id is not found.", "A story.", "expected some words", "some words beside the report",
                 "Rows of some words", "it tries up to 3 times", "GET chat/status/1", "404 after 200 ms"):  # fmt: skip
        assert said in text, said


def test_a_filter_stands_for_each_verdict_and_level(make: Maker) -> None:
    html = page(make.mixed())
    boxes = {a["id"] for a in Looked(html).all("input")}
    assert len(boxes) == 9
    css = html[html.index("<style>") : html.index("</style>")]
    for box in boxes:
        assert f"body:has(#{box}:not(:checked)) #all .of-{str(box).removeprefix('show-')}" in css


def test_what_is_no_failure_is_said_to_be_known_or_not_counted(make: Maker) -> None:
    known = [{"id": "FAM-01", "reason": "r", "link": "l", "expires": "2026-12-31"}]
    rows = make.row("FAM-01", make.check("failed")), make.row("FAM-06", make.check("failed"), level="SHOULD")
    text = Looked(page(make.report(*rows, known_failures=known))).text
    assert "not conformant, as known: 1 requirement failed, each a known failure" in text
    assert "Known failure: r (l, until 2026-12-31)" in text
    assert "failed (not counted)" in text
    assert (
        "Known failures in error"
        in Looked(page(make.report(make.row("FAM-01", make.check()), known_failures=known))).text
    )


def test_a_run_that_judged_nothing_says_why(make: Maker) -> None:
    report = make.report(make.row("FAM-01", verdict="could_not_run"), aborted="No heartbeat.")
    assert "nothing judged No heartbeat." in Looked(page(report)).text
    assert "Requirements" in Looked(page(make.report())).text


@pytest.mark.parametrize("version", READABLE)
def test_a_published_report_makes_a_page(version: str) -> None:
    assert "POP-01" in page(read_report(PUBLISHED / f"report-{version}.json"))


def assert_harmless(html: str) -> None:
    looked = Looked(html)
    assert {tag for tag, _ in looked.tags} <= {
        "html", "head", "meta", "title", "link", "style", "body", "header", "p", "h1", "h2", "h3", "h4", "dl", "div",
        "dt", "dd", "main", "section", "details", "summary", "span", "blockquote", "code", "figure", "svg", "line",
        "rect", "text", "polygon", "g", "pre", "ol", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "form",
        "fieldset", "legend", "label", "input", "a", "footer",
    }  # fmt: skip
    for tag, attributes in looked.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "src"):
                assert re.match(r"#[\w-]+$|data:,$", value or ""), value
    policies = [a["content"] for a in looked.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert str(policies[0]).startswith("default-src 'none'; style-src")
    assert "60481729" not in looked.text, "no template of theirs is evaluated"


def test_what_a_target_sends_is_text(make: Maker) -> None:
    html = page(hostile(make))
    assert_harmless(html)
    assert "<script>document.title='run'</script>" in Looked(html).text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", html)


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters()) | st.text("<>&\"'{}%#/ =`-!", max_size=30))
def test_whatever_a_target_sends_is_text(make: Maker, text: str) -> None:
    harmless = [tag for tag, _ in Looked(page(hostile(make, "words"))).tags]
    assert [tag for tag, _ in Looked(page(hostile(make, f"a{text}"))).tags] == harmless


@needs_browser
def test_in_a_browser_nothing_of_a_targets_runs_and_no_network_is_asked(make: Maker, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(hostile(make)), "utf-8")
    document, complaints, asked = looked_at(file, tmp_path)
    assert (complaints, asked) == ("", set())
    assert "<title>not conformant" in document
    assert "<img" not in document


@needs_browser
def test_a_page_that_runs_what_a_target_sent_would_be_found_out(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<title>conformant</title>{HOSTILE}")
    document, _, asked = looked_at(file, tmp_path)
    assert "<title>run</title>" in document
    assert asked == {"elsewhere.invalid"}


def flood(make: Maker, exchanges: int, size: int) -> Report:
    """A failing check of so many exchanges with bodies of that size, made without copying any."""
    body = "<x>" * (size // 3)
    one = make.exchange().model_dump() | {"request_body": body, "response_body": body}
    many = [Exchange.model_construct(**(one | {"started": float(place)})) for place in range(exchanges)]
    check = make.check("failed", evidence=evidence()).model_copy(update={"exchanges": many})
    row = make.row("FAM-01", make.check("failed")).model_copy(update={"checks": [check]})
    return make.report(make.row("FAM-01", make.check("failed"))).model_copy(update={"requirements": [row]})


def test_ten_thousand_exchanges_of_a_megabyte_are_cut_and_the_cut_is_said(make: Maker) -> None:
    html = page(flood(make, 10_000, 2**20))
    assert len(html.encode()) < LARGEST
    text = Looked(html).text
    assert "The last 30 of 10000 exchanges are here; report.json has them all." in text
    assert "(1048575 characters, cut here)" in text


def test_a_run_in_which_everything_fails_at_length_still_fits(make: Maker) -> None:
    row = flood(make, 30, 9000).requirements[0]
    rows = [row.model_copy(update={"id": f"POP-{number:03}"}) for number in range(150)]
    html = page(make.report().model_copy(update={"requirements": rows}))
    assert len(html.encode()) < LARGEST
    assert all(f"POP-{number:03}" in html for number in range(150))


def lanes(exchanges: list[Exchange]) -> list[tuple[str, str]]:
    drawing = sequence(exchanges)
    assert drawing is not None
    return [(lane.name.replace("\xa0", " "), lane.kind) for lane in drawing.lanes]


def test_requesters_stand_left_of_the_server_and_workers_right(make: Maker) -> None:
    asked = make.exchange(actor="requester 1", url="http://a/v2/generate/chat/async", started=1)
    popped = make.exchange(actor="somebody", url="http://a/v2/generate/text/pop", started=2)
    expected = [("requester 1", "requester"), ("the server", "server"), ("somebody", "worker")]
    assert lanes([popped, asked]) == expected
    renamed = popped.model_copy(update={"url": "http://a/elsewhere", "operation": "pop"})
    assert lanes([asked, renamed]) == expected
    assert sequence([]) is None


def test_a_crowd_gets_narrow_lanes_in_which_each_name_is_still_its_own(make: Maker) -> None:
    crowd = [make.exchange(actor=f"a worker of long name {number}", url="http://a/pop") for number in range(16)]
    drawing = sequence(crowd)
    assert drawing is not None
    assert len(drawing.lanes) == 17
    assert drawing.width < 17 * 130
    assert {arrow.label for arrow in drawing.arrows} == {"GET pop", "404 after 200 ms"}
    for arrow in drawing.arrows:
        assert min(arrow.start, arrow.end) < arrow.label_x < max(arrow.start, arrow.end)


def test_what_happened_at_once_is_drawn_in_the_order_of_its_moments(make: Maker) -> None:
    slow = make.exchange(actor="a", started=1.0, seconds=2.0, status=200)
    fast = make.exchange(actor="b", started=1.5, seconds=0.25, status=None, error="reset")
    drawing = sequence([slow, fast], frozenset({0}))
    assert drawing is not None
    told: list[Any] = [(arrow.tone, arrow.time, arrow.deciding) for arrow in drawing.arrows]
    assert told == [
        ("ask", "0 ms", False), ("ask", "500 ms", False), ("none", "750 ms", False), ("good", "2000 ms", True),
    ]  # fmt: skip
    heights = [arrow.y for arrow in drawing.arrows]
    assert heights == sorted(set(heights))
    assert drawing.height > heights[-1]
