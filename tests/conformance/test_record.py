"""The record's sentences: each requirement that rests on one quotes it."""

from __future__ import annotations

from conformance import catalogue, record, run
from conformance.plugin import Outcomes


def test_each_requirement_that_rests_on_the_record_quotes_it() -> None:
    silent = [row.id for row in catalogue.requirements().values() if row.basis == "adr" and not record.quoted(row.id)]
    assert silent == []


def test_each_sentence_is_quoted_by_requirements_that_there_are() -> None:
    assert record.sentences()
    for sentence in record.sentences():
        assert sentence.requirements, sentence.text
        assert set(sentence.requirements) <= set(catalogue.requirements()), sentence.text
        assert len(set(sentence.requirements)) == len(sentence.requirements), sentence.text
    texts = [sentence.text for sentence in record.sentences()]
    assert len(set(texts)) == len(texts)


def test_a_report_quotes_them() -> None:
    rows = {row.id: row for row in run.rows({"POP-01"}, run.resolve(run.Options()), Outcomes(), None)}
    assert "Workers that do not declare chat must keep receiving text jobs" in rows["POP-01"].record[0]
    assert rows["SEC-01"].record == []
