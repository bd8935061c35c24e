"""Operation keys: one user's submits with the same key make one request, and no other submits do."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from operator import attrgetter

from conformance.histories.books import DONE, Books, Request
from conformance.histories.findings import Findings
from conformance.histories.model import Rule, Submit
from conformance.histories.names import Names

_returned = attrgetter("returned")


def judge_keys(books: Books, found: Findings) -> None:
    """Of the submits with one key all that were carried out gave the same id."""
    for submits in books.keys.values():
        done = sorted((submit for submit in submits if submit.outcome is DONE), key=_returned)
        other = next((submit for submit in done if submit.request != done[0].request), None)
        # A key is free again when its request has expired.
        if other is not None and other.returned < done[0].called + books.terms.request_lifetime:
            _split(done[0], other, found)


def _split(first: Submit, other: Submit, found: Findings) -> None:
    found.add(
        Rule.SPLIT,
        other.returned,
        None,
        [first, other],
        lambda names: (
            f"two submits of {first.account} with the operation key {first.key!r} made two requests: "
            f"{names.request(first.request)} of {names.who(first)} and {names.request(other.request)} of "
            f"{names.who(other)}"
        ),
    )


def judge_merged(request: Request, found: Findings) -> None:
    """Submits that gave the same id have the same key of the same user."""
    done = sorted((submit for submit in request.submits if submit.outcome is DONE), key=_returned)
    for first, other in pairwise(done):
        if other.key is None or _identity(other) != _identity(first):
            found.add(Rule.MERGED, other.returned, request, [first, other], partial(_tell_merged, first, other))
            return


def _identity(submit: Submit) -> tuple[str, str, str | None]:
    return submit.account, submit.family, submit.key


def _tell_merged(first: Submit, other: Submit, names: Names) -> str:
    told = " and ".join(f"that of {names.who(act)} with {_key(act)}" for act in (first, other))
    return f"two submits were given the same id, {names.request(first.request)}: {told}"


def _key(submit: Submit) -> str:
    return "no operation key" if submit.key is None else f"the operation key {submit.key!r} of {submit.account}"
