"""What came of a check is its verdict: an assertion fails it, all else that stops it leaves it unjudged."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance import catalogue, plugin
from conformance.client import Client
from conformance.errors import BadCatalogue
from conformance.profile import Profile, load
from conformance.stage import Cast, Resources
from fixtures.nulls.server import Request, json_answer, serve
from reports.model import CheckResult

HEAD = """
    import pytest
    from conformance.actors import Family
    from conformance.checks import Broken, check
    from conformance.errors import CouldNotRun
    from conformance.stage import Stage
"""

Run = Callable[..., plugin.Outcomes]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    def say(request: Request) -> Any:
        return json_answer(200, {"asked": request.path})

    with serve(say) as url:
        yield url


@pytest.fixture
def run(tmp_path: Path, url: str) -> Run:
    """Run a suite of these lines with a profile (the reference's unless given) and the ids selected (all of them)."""

    def running(
        lines: str,
        profile: Profile | None = None,
        selected: set[str] | None = None,
        on_result: Callable[[str, CheckResult], None] | None = None,
        lanes: int = 0,
    ) -> plugin.Outcomes:
        suite = tmp_path / "test_suite.py"
        suite.write_text(textwrap.dedent(HEAD) + textwrap.dedent(lines), "utf-8")
        with Client(url, profile or load("reference")) as client:
            resources = Resources(client, Cast([], []), None, seed=1)
            wanted = set(catalogue.requirements()) if selected is None else selected
            casts = [Cast([], []) for _ in range(lanes)]
            judge = plugin.VerdictPlugin(resources, wanted, time.monotonic(), on_result, casts)
            return plugin.run(judge, str(suite))

    return running


def only(outcomes: plugin.Outcomes, id: str = "FAM-01") -> CheckResult:
    assert list(outcomes.results) == [id]
    (result,) = outcomes.results[id]
    return result


def test_a_check_that_ends_passes(run: Run) -> None:
    result = only(run('@check("FAM-01")\ndef test_it(stage: Stage) -> None:\n    stage.note("seen", 3)'))
    assert (result.name, result.verdict, result.reason) == ("test_it", "passed", None)
    assert result.notes == {"seen": 3}
    assert result.exchanges == [], "a check that passed needs no evidence"


def test_an_assertion_that_does_not_hold_fails_it_with_one_sentence(run: Run) -> None:
    result = only(
        run("""
        @check("FAM-01")
        def test_it(stage: Stage) -> None:
            seen = 404
            assert seen == 200, f"expected to be found, got {seen}"
        """)
    )
    assert (result.verdict, result.reason) == ("failed", "expected to be found, got 404")


def test_an_assertion_without_a_sentence_fails_it_too(run: Run) -> None:
    result = only(run('@check("FAM-01")\ndef test_it(stage: Stage) -> None:\n    assert not stage.name'))
    assert result.verdict == "failed"
    assert result.reason


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ('raise CouldNotRun("no worker came")', "no worker came"),
        ("{}['nobody foresaw']", "KeyError: 'nobody foresaw'"),
        ("stage.requester(7)", "the story needs 8 requesters; the profile's accounts give 0"),
    ],
)
def test_what_else_stops_a_story_leaves_it_unjudged(run: Run, stop: str, reason: str) -> None:
    result = only(run(f'@check("FAM-01")\ndef test_it(stage: Stage) -> None:\n    {stop}'))
    assert (result.verdict, result.reason) == ("could_not_run", reason)


def test_a_stage_that_cannot_be_set_leaves_it_unjudged(run: Run) -> None:
    result = only(
        run("""
        @pytest.fixture
        def props():
            raise OSError("no props")

        @check("FAM-01")
        def test_it(stage: Stage, props) -> None:
            pass
        """)
    )
    assert (result.verdict, result.reason) == ("could_not_run", "OSError: no props")


def test_the_evidence_is_of_this_check_alone_and_bounded(run: Run) -> None:
    told = run("""
        def ask(stage, times):
            for i in range(times):
                stage.client.call("worker", kind="workers", actor="anybody", id=f"{stage.name}-{i}")

        @check("FAM-01")
        def test_one(stage: Stage) -> None:
            ask(stage, 2)
            assert not "broken", "broken"

        @check("FAM-02")
        def test_two(stage: Stage) -> None:
            ask(stage, 40)
            raise CouldNotRun("stopped")
        """).results
    (one,), (two,) = told["FAM-01"], told["FAM-02"]
    assert [e.url.rpartition("/")[2] for e in one.exchanges] == ["test_one-0", "test_one-1"]
    assert [e.url.rpartition("/")[2] for e in two.exchanges] == [f"test_two-{i}" for i in range(10, 40)]
    assert one.exchanges[0].response_body == '{"asked": "/api/v2/workers/test_one-0"}'


SHARED = """
    @check("FAM-05", "ACC-06")
    def test_it(stage: Stage) -> None:
        {end}
"""


def verdicts(outcomes: plugin.Outcomes) -> dict[str, list[str]]:
    return {id: [check.verdict for check in checks] for id, checks in outcomes.results.items()}


def test_of_several_requirements_the_broken_one_fails_and_no_other(run: Run) -> None:
    outcomes = run(SHARED.format(end='raise Broken("ACC-06", "paid twice")'))
    assert verdicts(outcomes) == {"FAM-05": ["passed"], "ACC-06": ["failed"]}
    assert outcomes.results["ACC-06"][0].reason == "paid twice"


def test_a_check_that_was_cut_short_says_nothing_of_the_requirements_that_it_did_not_come_to(run: Run) -> None:
    outcomes = run(SHARED.format(end='raise Broken("ACC-06", "paid twice", others_judged=False)'))
    assert verdicts(outcomes) == {"ACC-06": ["failed"]}
    assert outcomes.checked >= {"FAM-05", "ACC-06"}


@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        ("pass", "passed"),
        ('assert not "it", "it"', "failed"),
        ('raise Broken("FAM-99", "it")', "failed"),
        ('raise CouldNotRun("stopped")', "could_not_run"),
    ],
)
def test_what_names_none_of_several_requirements_holds_for_each(run: Run, end: str, verdict: str) -> None:
    assert verdicts(run(SHARED.format(end=end))) == {"FAM-05": [verdict], "ACC-06": [verdict]}


def test_of_several_requirements_only_the_selected_are_judged(run: Run) -> None:
    assert verdicts(run(SHARED.format(end="pass"), selected={"ACC-06"})) == {"ACC-06": ["passed"]}


def test_a_result_is_told_when_it_is_there(run: Run) -> None:
    told: list[tuple[str, str]] = []
    run(
        '@check("FAM-02")\ndef test_it(stage: Stage) -> None:\n    pass',
        on_result=lambda id, result: told.append((id, result.verdict)),
    )
    assert told == [("FAM-02", "passed")]


SEVERAL = """
    @check("POP-07")  # marked alone
    def test_alone(stage: Stage) -> None:
        pass

    @check("FAM-01")
    def test_chat(stage: Stage) -> None:
        pass

    @check("RPL-09", both=True)
    def test_both(stage: Stage, family: Family) -> None:
        pass

    @check("POP-11", half="text")
    def test_text(stage: Stage) -> None:
        pass

    @check("RPL-19")  # needs time and database
    def test_storage(stage: Stage) -> None:
        pass
"""


def ran(outcomes: plugin.Outcomes) -> list[str]:
    return [check.name for checks in outcomes.results.values() for check in checks]


def test_rows_that_look_at_the_whole_queue_come_last(run: Run) -> None:
    outcomes = run(SEVERAL)
    assert list(outcomes.results) == ["FAM-01", "RPL-09", "POP-11", "RPL-19", "POP-07"]
    assert ran(outcomes) == [
        "test_chat",
        "test_both[chat]",
        "test_both[text]",
        "test_text",
        "test_storage",
        "test_alone",
    ]


def test_lanes_give_the_same_results_and_leave_alone_what_wants_to_be(run: Run) -> None:
    told: list[str] = []
    outcomes = run(SEVERAL, lanes=3, on_result=lambda id, _: told.append(id))
    assert verdicts(outcomes) == verdicts(run(SEVERAL))
    assert told[-1] == "POP-07", "after everything else has ended"


WHERE = """
    import os, signal

    @check("FAM-01")
    def test_one(stage: Stage) -> None:
        stage.note("process", os.getpid())
        stage.client.call("worker", kind="workers", actor="anybody", id="1")

    @check("FAM-02")
    def test_two(stage: Stage) -> None:
        stage.note("process", os.getpid())
        {two}

    @check("POP-07")  # marked alone
    def test_three(stage: Stage) -> None:
        stage.note("process", os.getpid())
"""


def test_a_lane_is_a_process_of_its_own(run: Run) -> None:
    told = run(WHERE.format(two="pass"), lanes=2).results
    one, two, three = (told[id][0] for id in ("FAM-01", "FAM-02", "POP-07"))
    assert three.notes["process"] == os.getpid()
    assert os.getpid() not in (one.notes["process"], two.notes["process"])
    assert (one.calls, two.calls) == (1, 0)
    assert 0 < one.waited <= one.seconds


def test_a_check_that_ends_its_process_is_not_judged_and_the_others_are(run: Run) -> None:
    told = run(WHERE.format(two="os.kill(os.getpid(), signal.SIGKILL)"), lanes=2).results
    assert told["FAM-01"][0].verdict == told["POP-07"][0].verdict == "passed"
    assert told["FAM-02"][0].verdict == "could_not_run"
    assert "process" in (told["FAM-02"][0].reason or "")


def test_what_is_not_selected_does_not_run_but_is_known_to_have_a_check(run: Run) -> None:
    outcomes = run(SEVERAL, selected={"RPL-09"})
    assert ran(outcomes) == ["test_both[chat]", "test_both[text]"]
    assert outcomes.checked == {"POP-07", "FAM-01", "RPL-09", "POP-11", "RPL-19"}


def test_what_a_target_does_not_declare_does_not_run(run: Run) -> None:
    profile = load("reference").with_capabilities(without=frozenset({"time"}))
    outcomes = run(SEVERAL, profile)
    assert "RPL-19" not in outcomes.results
    assert "FAM-01" in outcomes.results


def test_a_target_without_chat_gets_the_text_halves(run: Run) -> None:
    profile = load("reference").with_capabilities(without=frozenset({"chat"}))
    assert "test_both[text]" in ran(run(SEVERAL, profile))
    assert not {"test_chat", "test_both[chat]", "test_alone"} & set(ran(run(SEVERAL, profile)))


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("\nimport nobody_has_this", "nobody_has_this"),
        ("def test_it(stage: Stage) -> None:\n    pass", "test_it"),
        ('@check("FAM-99")\ndef test_it(stage: Stage) -> None:\n    pass', "test_it"),
        ("def test_it(", "test_suite.py"),
    ],
    ids=["an import that fails", "no requirement", "a requirement that is not in the catalogue", "no Python"],
)
def test_a_suite_that_cannot_be_collected_is_our_own_mistake(
    run: Run, suite: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    sound = '\n@check("FAM-01")\ndef test_sound(stage: Stage) -> None:\n    pass\n'
    with pytest.raises(BadCatalogue) as stopped:
        run(sound + suite, on_result=lambda id, _: told.append(id))
    assert said in stopped.value.what
    assert stopped.value.hint
    assert told == [], "a run without one of its suites judges nothing"
    assert "Traceback" not in "".join(capfd.readouterr())
