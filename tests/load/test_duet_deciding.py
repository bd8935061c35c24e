"""What a duet says of rounds whose truth is known, and how its experiment counts."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from conformance.errors import Exit
from load.duet import Head, Measure, Plan, Round, Verdict, decide, keep, percent, power, ratios, read
from load.duet.driving import Block
from load.errors import BadMeasurements, BadPairs
from load.statistics import Answer, pairs

SEED = 20261130
PLAN = Plan()


def rounds(
    *, b_cpu: float = 1.0, b_wall: float = 1.0, b_client: float = 1.0, again: float = 1.0, seen: bool = True,
    seed: int = SEED, count: int = 25,
) -> list[Round]:  # fmt: skip
    """Four launches with the noise that was measured: the processor's, which the client shares, and each block's."""
    sys.stdout.write(f"seed {seed}\n")
    rng = np.random.default_rng(seed)

    def block(cpu: float, wall: float, client: float, launch: float) -> Block:
        weather = rng.normal(0, 0.12)
        spent = 0.004 * cpu * math.exp(weather + launch + rng.normal(0, 0.06))
        return Block(
            calls=50, failed=0,
            median_seconds=0.006 * wall * math.exp(weather + launch + rng.normal(0, 0.1)),
            server_cpu_seconds=0.7 * spent if seen else None,
            database_cpu_seconds=0.3 * spent if seen else None,
            generator_cpu_seconds=0.0006 * client * math.exp(weather + rng.normal(0, 0.03)),
        )  # fmt: skip

    told = []
    for launch in range(4):
        bias = {name: rng.normal(0, 0.006) for name in "abc"}
        for number in range(count):
            blocks = {
                "a": block(1, 1, 1, bias["a"]),
                "again": block(again, again, 1, bias["b"]),
                "b": block(b_cpu, b_wall, b_client, bias["c"]),
            }
            told.append(Round(launch=launch, round=number, order=("a", "again", "b"), blocks=blocks))
    return told


def deciding(verdict: Verdict) -> Measure:
    assert verdict.deciding is not None
    return verdict.deciding.measure


def test_one_build_twice_is_neither_slower_nor_faster() -> None:
    answers = {decide(rounds(seed=seed), PLAN).answer for seed in range(8)}
    assert answers <= {Answer.INCONCLUSIVE, Answer.EQUIVALENT}


def test_a_server_nine_per_cent_slower_is_found_and_the_ratio_and_the_interval_say_so() -> None:
    for seed in range(5):
        verdict = decide(rounds(b_cpu=1.09, b_wall=1.09, seed=seed), PLAN)
        assert verdict.answer is Answer.SLOWER
        assert verdict.deciding is not None
        told = verdict.deciding.comparison
        assert told.low < 1.09 < told.high
        assert percent(told) in verdict.reason
        assert 0.02 < told.smallest_effect < 0.09


def test_a_faster_build_is_faster() -> None:
    assert decide(rounds(b_cpu=0.85, b_wall=0.85), PLAN).answer is Answer.FASTER


def test_one_build_twice_is_equivalent_with_pairs_enough() -> None:
    assert decide(rounds(count=250), PLAN).answer is Answer.EQUIVALENT


def test_the_client_is_the_yardstick_and_the_processors_weather_cancels() -> None:
    scatter = {m: np.std(np.concatenate(list(ratios(rounds(), m) or ()))) for m in Measure}
    assert scatter[Measure.COST] < 0.7 * scatter[Measure.CPU]
    assert deciding(decide(rounds(), PLAN)) is Measure.COST


def test_a_yardstick_that_differs_between_the_builds_is_none() -> None:
    verdict = decide(rounds(b_cpu=1.3, b_client=1.3), PLAN)
    assert deciding(verdict) is Measure.CPU
    assert verdict.answer is Answer.SLOWER


def test_a_server_that_waits_and_does_not_compute_is_slower_too() -> None:
    verdict = decide(rounds(b_wall=1.3), PLAN)
    assert verdict.answer is Answer.SLOWER
    assert Measure.WALL.value in verdict.reason


def test_measures_that_contradict_each_other_conclude_nothing() -> None:
    verdict = decide(rounds(b_cpu=0.7, b_wall=1.4), PLAN)
    assert verdict.answer is Answer.INCONCLUSIVE
    assert "contradict" in verdict.reason


def test_where_cpu_time_cannot_be_seen_latency_decides_with_the_same_margin() -> None:
    verdict = decide(rounds(b_wall=1.25, seen=False), PLAN)
    assert (deciding(verdict), len(verdict.told)) == (Measure.WALL, 1)
    assert verdict.answer is Answer.SLOWER
    assert verdict.told[0].comparison.margin == PLAN.margin


@pytest.mark.parametrize("b", [1.0, 1.15, 1.4])
def test_there_is_no_verdict_where_a_differs_from_a(b: float) -> None:
    verdict = decide(rounds(again=1.15, b_cpu=b, b_wall=b), PLAN)
    assert verdict.answer is Answer.NO_VERDICT
    assert "A differs from A" in verdict.reason


def broken(told: list[Round], count: int) -> list[Round]:
    def failing(one: Round) -> Round:
        block = one.blocks["b"].model_copy(update={"failed": 1})
        return one.model_copy(update={"blocks": {**one.blocks, "b": block}})

    return [failing(one) if i < count else one for i, one in enumerate(told)]


def test_a_round_with_a_failed_call_is_left_out_and_many_leave_no_verdict() -> None:
    few = decide(broken(rounds(), 5), PLAN)
    assert (few.broken, few.told[0].comparison.pairs) == (5, 95)
    many = decide(broken(rounds(b_cpu=2), 20), PLAN)
    assert (many.answer, many.told) == (Answer.NO_VERDICT, ())
    assert "20 of 100" in many.reason


@pytest.mark.parametrize("figure", ["median_seconds", "generator_cpu_seconds", "server_cpu_seconds"])
def test_a_round_in_which_a_clock_did_not_go_forward_is_left_out(figure: str) -> None:
    """The processes of a server that ends in a block take their time with them."""
    first, *rest = rounds()
    block = first.blocks["a"].model_copy(update={figure: -0.1 if figure == "server_cpu_seconds" else 0.0})
    verdict = decide([first.model_copy(update={"blocks": {**first.blocks, "a": block}}), *rest], PLAN)
    assert (verdict.broken, deciding(verdict)) == (1, Measure.COST)


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(BadMeasurements):
        decide(rounds(count=2), PLAN)


def test_what_is_kept_is_what_was_played(tmp_path: Path) -> None:
    path, head, told = tmp_path / "deep" / "rounds.jsonl", Head(a="profile", b="http://x", plan=PLAN), rounds(count=3)
    assert list(keep(path, head, iter(told))) == told
    assert read(path) == (head, told)
    assert decide(read(path)[1], PLAN) == decide(told, PLAN)


@pytest.mark.parametrize("text", [None, "", "{}\n", '{"kind":"duet","a":"x","b":"y","plan":{}}\n{"launch":1}\n'])
def test_a_file_that_is_no_duets_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "rounds.jsonl"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(BadPairs):
        read(path)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The experiment with rounds out of a hat; the seeds of the runs that it plays."""
    seeds: list[int] = []

    def play(_a: Any, b: Any, plan: Plan, *_: Any) -> Iterator[Round]:
        seeds.append(plan.seed)
        effect = 1.09 if "slowed" in b.text else 1.0
        yield from rounds(b_cpu=effect, b_wall=effect, seed=plan.seed)

    monkeypatch.setattr("load.duet.power.play", play)
    # Of how often it is drawn nothing here depends.
    monkeypatch.setattr(pairs, "_RESAMPLES", 200)
    monkeypatch.setattr(power, "_RESAMPLED_PAIRS", (24,))
    return seeds


def experiment(folder: Path, runs: int, minutes: float = 1) -> int:
    with pytest.raises(typer.Exit) as ended:
        power.main(runs=runs, folder=folder, minutes=minutes, seconds=0.2, resampled=2)
    return ended.value.exit_code


def test_the_experiment_plays_only_what_is_missing(
    tmp_path: Path, pretended: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert experiment(tmp_path, 1) == Exit.CONFORMANT
    assert experiment(tmp_path, 2) == Exit.CONFORMANT
    assert experiment(tmp_path, 2) == Exit.CONFORMANT
    assert pretended == [0, 1, 2, 3]
    assert {p.name for p in tmp_path.iterdir()} == {f"{kind}-00{i}.jsonl" for kind in power.KINDS for i in (0, 1)}
    assert "4 runs" in capsys.readouterr().out


def test_an_experiment_that_was_interrupted_plays_the_half_run_again(
    tmp_path: Path, pretended: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = vars(power)["play"]

    def interrupted(*given: Any) -> Iterator[Round]:
        yield from list(whole(*given))[:7]
        raise KeyboardInterrupt

    monkeypatch.setattr("load.duet.power.play", interrupted)
    with pytest.raises(KeyboardInterrupt):
        power.main(runs=1, folder=tmp_path, minutes=1, seconds=0.2, resampled=0)
    assert [p.name for p in tmp_path.iterdir()] == ["same-000.part"]
    monkeypatch.setattr("load.duet.power.play", whole)
    assert experiment(tmp_path, 1) == Exit.CONFORMANT
    assert pretended == [0, 0, 1]


def test_no_run_begins_after_its_time_and_what_lacks_is_no_success(tmp_path: Path, pretended: list[int]) -> None:
    assert experiment(tmp_path, 3, minutes=0) == Exit.COULD_NOT_RUN
    assert pretended == []


def kept(effect: float, count: int) -> list[power.Kept]:
    head = Head(a="profile", b="profile", plan=PLAN)
    told = [rounds(b_cpu=effect, b_wall=effect, seed=seed) for seed in range(count)]
    return [power.Kept(head, some, decide(some, PLAN)) for some in told]


def test_the_bars_of_the_experiment() -> None:
    same, slowed = kept(1.0, 3), kept(1.12, 3)
    assert power.judged({"same": same, "slowed": slowed}, 3) is Exit.CONFORMANT
    assert power.judged({"same": same, "slowed": slowed[:2]}, 3) is Exit.COULD_NOT_RUN
    assert power.judged({"same": [*same, slowed[0]], "slowed": slowed}, 3) is Exit.NOT_CONFORMANT
    assert power.judged({"same": same, "slowed": [*slowed, same[0]]}, 3) is Exit.NOT_CONFORMANT


def test_a_run_drawn_again_has_the_pairs_asked_for_and_the_effect_of_its_kind() -> None:
    verdict = power.resample(kept(1.12, 3), 100, random.Random(SEED))
    assert verdict.rounds == 100
    assert verdict.answer is Answer.SLOWER
