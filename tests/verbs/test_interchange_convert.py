"""`convert` as a shell meets it: YAML of ours on stdout and nothing else, or every mistake of the file."""

from __future__ import annotations

from pathlib import Path

from pixirnb import api
from pixirnb.spec.loader import load_text
from pixirnb.verbs.answers import Answer, Desk
from pixirnb.verbs.app import perform
from tests.verbs.command import command, written

RELAY = """
version: "1.0"
name: w
swarm: {pattern: dag}
workflows:
  - name: w
    steps:
      - {name: a, type: deterministic, command: echo made}
"""


def test_what_it_prints_is_a_file_that_runs_and_says_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, RELAY, "relay.yaml")
    said = command("convert", path)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("# swarm.pattern: ")
    made = written(tmp_path, said.out, "made.yaml")
    assert api.load(made) == api.load(path)
    assert command("run", made).code == 0
    # Converting what is ours already changes nothing but the comments.
    assert command("convert", made).out == said.out.partition("\n\n")[2]


def test_as_json_it_is_one_document_with_the_notes_apart(tmp_path: Path) -> None:
    said = command("convert", written(tmp_path, RELAY), "--json")
    document = said.document()
    assert sorted(document) == ["notes", "ok", "schema_version", "yaml"]
    assert load_text(document["yaml"]).workflow == load_text(RELAY).workflow
    assert [(note["code"], note["line"]) for note in document["notes"]] == [("relay_inert", 4)]


def test_a_file_with_mistakes_is_refused_with_all_of_them(tmp_path: Path) -> None:
    text = RELAY.replace("echo made", "'{{steps.b.output}}'").replace(
        "name: a,", "name: a, retries: x,"
    )
    said = command("convert", written(tmp_path, text))
    assert (said.code, said.out) == (2, "")
    assert "reference_unknown_step" in said.err
    assert "wrong_type" in said.err
    assert command("convert", tmp_path / "nowhere.yaml").code == 2


def test_a_workflow_of_the_notebook_is_converted_by_its_name() -> None:
    workflow = load_text("steps: [{run: make, id: a}]\nname: mine").workflow
    assert workflow is not None
    found = perform(Desk(workflows={"mine": workflow}), ["convert", "mine"])
    assert isinstance(found, Answer)
    assert found.document["yaml"] == "name: mine\n\nsteps:\n  - id: a\n    run: make\n"


def test_a_role_stays_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles/reader.yaml").write_text("runner: scripted\nrole: You read.\n")
    text = "name: w\nsteps: [{id: a, task: Read., agent: reader}]\n"
    said = command("convert", written(tmp_path, text))
    assert said.code == 0
    assert "agents:" not in said.out
