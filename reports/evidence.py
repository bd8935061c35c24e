"""What shows a failure: the part of the model of one run that a person acts on."""

from __future__ import annotations

from pydantic import NonNegativeInt, PositiveInt

from reports.values import Frozen, Text


class Deciding(Frozen):
    """What decided a failure: `place` in the answer of `exchange` (its index in the check's exchanges) held `came`.

    The place is `status`, or dotted names into the body. `came` is JSON, `null` where nothing stands at the place.
    """

    exchange: NonNegativeInt
    place: Text
    came: Text


class Rows(Frozen):
    """Rows of the target's database that a failure concerns, as they stood when the check ended, without secrets."""

    table: Text
    columns: list[Text]
    rows: list[list[Text | None]]
    cut: Text | None = None


class Repro(Frozen):
    """A shell script that shows one failure again; `file` is its path in the report's folder.

    It exits 1 where the defect shows, 0 where it does not, 2 where the story could not be told. `needs` are the
    programs beside a shell and the environment variables that it asks for; `rounds` how often it tries a race at most.
    """

    file: Text
    script: Text
    needs: list[Text] = []
    rounds: PositiveInt = 1


class Evidence(Frozen):
    """What shows a failure: what was expected and what came, in words, and the files beside the report.

    `har` is the path of the check's exchanges as HAR 1.2 in the report's folder; `repro` the script that shows it
    again, or `no_repro` why there is none; `server` the database's side where it is visible. `cut` says what of the
    exchanges was left out here and there.
    """

    expected: Text
    came: Text
    deciding: list[Deciding] = []
    har: Text | None = None
    repro: Repro | None = None
    no_repro: Text | None = None
    server: list[Rows] = []
    cut: Text | None = None
