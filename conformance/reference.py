"""The reference server alone, for an implementer to play with."""

from __future__ import annotations

import threading

import typer

from conformance import profile as profiles
from conformance import targets
from fixtures import faults
from fixtures.postgres import open_server


def serve(database_url: str | None, port: int, fault: str | None) -> None:
    """Run the reference on a fresh database until it is interrupted.

    Args:
        database_url: a PostgreSQL server to make the database on; embedded by default.
        port: on 127.0.0.1; 0 takes a free one.
        fault: a named fault to put in.
    """
    profile = profiles.load("reference")
    if fault is not None:
        faults.get(fault)
    with (
        open_server(database_url) as postgres,
        targets.embedded(profile, postgres, fault, port=port) as target,
    ):
        try:
            _announce(target, profile)
            threading.Event().wait()
        except KeyboardInterrupt:
            typer.echo("Ended.")


def _announce(target: targets.Target, profile: profiles.Profile) -> None:
    typer.echo(f"The reference server listens on {target.url}; its database is {target.database_url}")
    typer.echo(f"Its API is described at {target.url}/openapi.json; make an account with")
    method, path = profile.route("make_account")
    typer.echo(
        f"  curl -X {method} {target.url}{path} -H 'Content-Type: application/json' "
        '-d \'{"username": "me", "oauth_id": "me", "trusted": true}\''
    )
    typer.echo("Ctrl-C ends it.")
