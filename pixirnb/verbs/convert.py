"""The verb `convert`: a workflow of any supported format as our own YAML. Source: contract.md §9."""

from __future__ import annotations

from cyclopts import App

from pixirnb import api
from pixirnb.verbs.answers import Answer, Desk
from pixirnb.verbs.options import Common, is_json, source_of


def add(app: App, desk: Desk) -> None:
    """Register the verb on an App."""

    @app.command
    def convert(file: str, *, common: Common | None = None) -> Answer:
        """Print a workflow as YAML of our own: a relay file, or one of ours put in order. Changes nothing.

        Args:
            file: A workflow's file, or the name of one defined in this notebook.
        """
        text, notes = api.convert_source(source_of(desk, file))
        document = {"ok": True, "yaml": text, "notes": [note.document() for note in notes]}
        return Answer("conversion", document, is_json=is_json(common))
