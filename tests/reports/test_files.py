"""What is written is whole, matches the committed schema, holds no key, and reads back as it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reports.errors import AlteredReport, MismatchedVersion, ReportError, UnreadableReport, UnwritableReport
from reports.load import read_report
from reports.model import CheckResult, Report
from reports.redact import placeholder
from reports.schema import SCHEMA_PATH, schema_text
from reports.write import check_replaceable, write_report

if TYPE_CHECKING:
    from pathlib import Path

    from tests.reports.conftest import Maker

KEY = "kE7-aVery.Secret+Key_22"


def stored(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def test_the_committed_schema_is_the_generated_one() -> None:
    assert SCHEMA_PATH.read_text(encoding="utf-8") == schema_text(), "run `python -P -m reports.schema`"


def test_a_written_report_matches_the_schema_and_reads_back(make: Maker, tmp_path: Path) -> None:
    path = write_report(make.mixed(), tmp_path / "new" / "folder")
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(stored(path))
    assert read_report(path) == make.mixed()


def test_the_file_says_what_follows_from_its_rows(make: Maker, tmp_path: Path) -> None:
    written = stored(write_report(make.mixed(), tmp_path))
    assert written["counts"] == {
        "selected": 3,
        "ran": 2,
        "passed": 1,
        "failed": 1,
        "could_not_run": 1,
        "not_declared": 1,
        "not_selected": 1,
        "no_check_yet": 3,
    }
    assert (written["verdict"], written["exit_code"], written["schema_version"]) == ("not conformant", 1, "2")


def test_the_schema_refuses_what_the_model_does_not_know(make: Maker) -> None:
    written = json.loads(make.mixed().model_dump_json())
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    for change in ({"surprise": 1}, {"exit_code": 2}, {"verdict": "fine"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**written, **change}, schema)


def test_a_report_replaces_an_older_one_and_leaves_nothing_else(make: Maker, tmp_path: Path) -> None:
    write_report(make.mixed(), tmp_path)
    write_report(make.report(seed=7), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]
    assert read_report(tmp_path / "report.json").seed == 7


def test_a_folder_that_cannot_be_written_is_a_named_situation(make: Maker, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UnwritableReport, match="could not be written") as caught:
        write_report(make.mixed(), tmp_path / "taken")
    assert "--out" in str(caught.value)
    (tmp_path / "report.json").mkdir()
    with pytest.raises(UnwritableReport):
        write_report(make.mixed(), tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["report.json", "taken"], "no draft is left behind"


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (None, UnreadableReport, "No such file"),
        (b"{", UnreadableReport, "no JSON"),
        (b"\xff\xfe", UnreadableReport, "no JSON"),
        (b"[" * 100_000, UnreadableReport, "no JSON"),
        (b"[]", UnreadableReport, "no JSON object"),
        (b'{"schema_version": "1"}', UnreadableReport, "harness"),
        (b"{}", MismatchedVersion, "names no schema version"),
        (b'{"schema_version": "2"}', UnreadableReport, "harness"),
        (b'{"schema_version": "3"}', MismatchedVersion, "'3'"),
    ],
)
def test_what_is_no_report_is_a_named_situation(
    tmp_path: Path, content: bytes | None, error: type[ReportError], words: str
) -> None:
    path = tmp_path / "report.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=words) as caught:
        read_report(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"exit_code": 0}, {"verdict": "conformant"}, {"counts": {"failed": 0}}, {"counts": None}]
)
def test_a_report_whose_verdict_was_edited_is_refused(make: Maker, tmp_path: Path, change: dict[str, Any]) -> None:
    path = write_report(make.mixed(), tmp_path)
    path.write_text(json.dumps({**stored(path), **change}))
    with pytest.raises(AlteredReport, match=next(iter(change))):
        read_report(path)


def test_a_field_that_nobody_knows_is_refused(make: Maker, tmp_path: Path) -> None:
    path = write_report(make.mixed(), tmp_path)
    path.write_text(json.dumps({**stored(path), "surprise": 1}))
    with pytest.raises(UnreadableReport, match="surprise"):
        read_report(path)


@pytest.mark.parametrize("header", ["apikey", "ApiKey", "APIKEY"])
def test_no_key_stands_in_a_report_wherever_a_target_put_it(make: Maker, tmp_path: Path, header: str) -> None:
    sent = make.exchange(request_headers={header: KEY, "Client-Agent": "x:1:y"}, url=f"http://a/?key={KEY}")
    leaked = make.exchange(response_body=f'{{"job": "{KEY}"}}', response_headers={"X-Key": KEY}, error=f"with {KEY}")
    report = make.report(
        make.row("FAM-01", make.check(exchanges=[sent])),
        make.row("SEC-01", make.check("failed", reason=f"{KEY} leaked", notes={KEY: [KEY]}, exchanges=[leaked])),
    )
    assert KEY not in write_report(report, tmp_path).read_text(encoding="utf-8")
    assert KEY not in repr(report)
    (kept,) = report.requirements[0].checks[0].exchanges
    assert kept.request_headers == {header: placeholder(KEY), "Client-Agent": "x:1:y"}


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key"])
def test_a_key_under_another_name_is_hidden_as_well(make: Maker, name: str) -> None:
    sent = make.exchange(request_headers={name: f"Bearer {KEY}"}, response_body=f"hello {KEY}")
    assert KEY not in repr(make.report(make.row("FAM-01", make.check(exchanges=[sent]))))


def test_a_key_that_a_target_hands_out_is_hidden_everywhere(make: Maker) -> None:
    made = make.exchange(response_body=f'{{"api_key": "{KEY}", "kudos": 10000}}')
    later = make.exchange(response_body=f"hello {KEY}")
    report = make.report(make.row("FAM-01", make.check(exchanges=[made, later])))
    bodies = [each.response_body for each in report.requirements[0].checks[0].exchanges]
    assert bodies == [f'{{"api_key": "{placeholder(KEY)}", "kudos": 10000}}', f"hello {placeholder(KEY)}"]


def test_hiding_a_made_up_key_leaves_words_and_ids_alone(make: Maker) -> None:
    body = "a worker popped 00000000-0000-4000-8000-000000000000"
    keys = ["0000000000", "a", "", "worker"]
    sent = [make.exchange(request_headers={"apikey": key}, response_body=body) for key in keys]
    report = make.report(make.row("FAM-01", make.check(exchanges=sent)))
    for each in report.requirements[0].checks[0].exchanges:
        assert list(each.request_headers.values()) in [[placeholder(key)] for key in keys]
        assert each.response_body == body


any_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner) | st.tuples(inner),
    max_leaves=8,
)


@given(st.text(st.characters()), st.dictionaries(st.text(st.characters()), any_value))
def test_whatever_a_target_sent_can_be_written_and_read(text: str, notes: dict[str, Any]) -> None:
    check = CheckResult.model_validate(
        {"name": "test", "verdict": "failed", "seconds": 0, "reason": text, "notes": notes}
    )
    written = check.model_dump_json()
    json.loads(written.encode("utf-8"), parse_constant=pytest.fail)
    assert CheckResult.model_validate_json(written) == check


def test_times_know_their_zone_and_fields_are_fixed(make: Maker) -> None:
    with pytest.raises(ValidationError, match="timezone"):
        make.report(started_at="2026-01-02T03:04:05")
    with pytest.raises(ValidationError, match="frozen"):
        make.report().seed = 1  # type: ignore[misc]
    assert isinstance(make.report(), Report)


def test_a_folder_is_known_to_be_no_file_before_anything_is_written(tmp_path: Path) -> None:
    check_replaceable(tmp_path / "yet to be made")
    with pytest.raises(UnwritableReport, match="it is no file"):
        check_replaceable(tmp_path)


def test_a_report_that_is_read_back_has_the_same_placeholders(make: Maker, tmp_path: Path) -> None:
    sent = make.exchange(request_headers={"apikey": KEY})
    path = write_report(make.report(make.row("FAM-01", make.check(exchanges=[sent]))), tmp_path)
    (kept,) = read_report(path).requirements[0].checks[0].exchanges
    assert kept.request_headers == {"apikey": placeholder(KEY)}
