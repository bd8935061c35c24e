"""What a load run keeps of its exchanges is read as it was, save the payload that all of them share."""

from __future__ import annotations

import marshal
from pathlib import Path

import pytest

from conformance import profile as profiles
from conformance.errors import BadHistory
from load.scenarios.exchanges import Keeper, kept

REFERENCE = profiles.load("reference")
PAYLOAD = b"abcdefghijklmnopqrstuvwxyz" * 100


def keep(folder: Path, *bodies: bytes | None) -> Keeper:
    keeper = Keeper(folder, 0, PAYLOAD)
    for body in bodies:
        keeper.add("somebody", "pop", "POST", "/pop", "key", body, 200, body, 1.25, 2.5, None)
    keeper.close()
    return keeper


def test_an_exchange_is_read_as_it_was(tmp_path: Path) -> None:
    keep(tmp_path, b'{"a": "\xc3\xa4"}', None)
    first, second = kept(tmp_path, "http://127.0.0.1:1/", REFERENCE)
    assert (first.request_body, first.response_body) == ('{"a": "ä"}', '{"a": "ä"}')
    assert (first.started, first.ended, first.status) == (1.25, 2.5, 200)
    assert first.url == "http://127.0.0.1:1/pop"
    assert first.request_headers == {REFERENCE.headers.key: "key"}
    assert second.request_body is None


@pytest.mark.parametrize("times", [1, 2])
def test_the_payload_is_told_by_its_size_wherever_it_stands(tmp_path: Path, times: int) -> None:
    # What only begins like it stays.
    begins = PAYLOAD[:40]
    keep(tmp_path, b"1 " + b" and ".join([PAYLOAD] * times) + begins)
    (one,) = kept(tmp_path, "", REFERENCE)
    assert one.request_body == "1 " + " and ".join(["<2600 bytes>"] * times) + begins.decode()


def test_half_of_the_last_rows_is_what_a_kill_leaves_and_anything_else_is_no_exchange(tmp_path: Path) -> None:
    keep(tmp_path, b"{}")
    path = tmp_path / "exchanges-0.rows"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    assert len(list(kept(tmp_path, "", REFERENCE))) == 1
    for nonsense in (b"nonsense", b"N", marshal.dumps([(1, 2)])):
        path.write_bytes(whole + nonsense)
        with pytest.raises(BadHistory, match="holds no exchanges"):
            list(kept(tmp_path, "", REFERENCE))
