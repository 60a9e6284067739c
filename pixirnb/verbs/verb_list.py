"""The verbs: where each is, what a help page says of it, and examples. Source: contract.md §9."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Verb(NamedTuple):
    """Place of a verb, and its lines on a help page."""

    module: str
    """Its module in `pixirnb.verbs`; empty for a verb of notebooks."""
    summary: str
    """The first sentence of its docstring."""
    examples: tuple[str, ...]
    aliases: tuple[str, ...] = ()


VERBS: Final[Mapping[str, Mapping[str, Verb]]] = {
    "Run": {
        "plan": Verb(
            "planning",
            "Show what a run would do, and every error in the workflow; run nothing.",
            ("plan workflow.yaml", "plan workflow.yaml --prompt review"),
            (),
        ),
        "run": Verb(
            "running",
            "Run a workflow and wait for it to finish.",
            ("run workflow.yaml", "run workflow.yaml --input n=3 --tail"),
            (),
        ),
        "resume": Verb(
            "running",
            "Continue a run: reuse ready steps that have not changed, run the others.",
            (
                "resume @last",
                "resume @last --dry-run",
                "resume @last --from test --spec workflow.yaml",
            ),
            (),
        ),
        "fork": Verb(
            "running",
            "Start a new run from a checkpoint of another run, which stays as it is.",
            ("fork @last before-merge", "fork release before-merge --input n=5"),
            (),
        ),
        "watch": Verb(
            "running",
            "Watch a run that any process drives, until it finishes or pauses. Ctrl-C stops only the watching.",
            ("watch @last", "watch 7f3akq"),
            (),
        ),
    },
    "Inspect": {
        "show": Verb(
            "inspection",
            "Show the status of a run or a step, with its evidence.",
            ("show", "show release test", "show @last review --json"),
            ("status",),
        ),
        "runs": Verb(
            "housekeeping", "List runs, newest first.", ("runs", "runs --limit 10"), ("list", "ls")
        ),
        "logs": Verb(
            "inspection",
            "Print the output of steps.",
            ("logs @last", "logs @last test --follow"),
            (),
        ),
        "events": Verb(
            "inspection",
            "Print the events of a run, one per line.",
            ("events @last", "events @last --follow"),
            ("log",),
        ),
        "diff": Verb(
            "files",
            "Show the changes of isolated steps, and whether they are merged.",
            ("diff @last", "diff @last refactor --stat"),
            (),
        ),
        "compare": Verb(
            "housekeeping",
            "Compare two runs: their workflows, inputs, outcomes and steps.",
            ("compare 7f3akq @last",),
            (),
        ),
        "doctor": Verb(
            "housekeeping",
            "Check runs for problems; change nothing.",
            ("doctor", "doctor @last"),
            (),
        ),
    },
    "Decide": {
        "decide": Verb(
            "decisions",
            "Accept or reject a step that needs a decision, or resolve a seam; the run continues.",
            (
                'decide @last gate accept --value "yes"',
                'decide @last gate reject --note "Not today."',
            ),
            (),
        ),
        "approve": Verb(
            "decisions",
            "Allow the action that an agent asked for; the run continues.",
            ("approve r-20261121-220344-7f3akq/refactor.1.1",),
            (),
        ),
        "deny": Verb(
            "decisions",
            "Deny the action that an agent asked for; the run continues.",
            ('deny r-20261121-220344-7f3akq/refactor.1.1 --note "Use the API."',),
            (),
        ),
        "cancel": Verb(
            "decisions",
            "Stop a run, or one of its steps.",
            ("cancel @last", "cancel @last train", "cancel @last --drain"),
            (),
        ),
    },
    "Files": {
        "merge": Verb(
            "files",
            "Apply the changes of isolated steps to your files, all or nothing; --undo reverts the last merge.",
            (
                "merge @last --dry-run",
                "merge @last refactor",
                "merge @last --side workspace",
                "merge @last --undo",
            ),
            (),
        ),
        "checkpoint": Verb(
            "files",
            "Save a named checkpoint of a run, to fork from later.",
            ("checkpoint @last before-merge",),
            (),
        ),
        "export": Verb(
            "housekeeping",
            "Write a run to one file: a zip that opens on any machine, or an HTML page.",
            ("export @last", "export @last --html --to run.html"),
            (),
        ),
        "prune": Verb(
            "housekeeping",
            "List the runs that would be deleted; --yes deletes them.",
            ("prune --older-than 30d", "prune --keep 20 --yes"),
            (),
        ),
    },
    "Set up": {
        "init": Verb(
            "setup",
            "Write a commented workflow that runs as it is, and the JSON Schema for your editor.",
            ("init", "init python --to analysis"),
            (),
        ),
        "examples": Verb(
            "setup",
            "List the examples and notebooks that come with pixirnb, or copy them.",
            ("examples", "examples needs_decision --to lessons"),
            (),
        ),
        "schema": Verb(
            "schemas",
            "Print the JSON Schema of a workflow file or of a JSON document.",
            ("schema > workflow.schema.json",),
            (),
        ),
        "convert": Verb(
            "interchange",
            "Print a workflow as native YAML: converts an agent-relay file, normalizes a native one.",
            ("convert relay.yaml > workflow.yaml",),
            (),
        ),
        "completion": Verb(
            "setup",
            "Print the completion script of a shell: verbs, options and their values.",
            (
                "completion bash > ~/.local/share/bash-completion/completions/pixirnb",
                "completion fish > ~/.config/fish/completions/pixirnb.fish",
            ),
            (),
        ),
        "smoke": Verb(
            "smoke.verb",
            "Run small self-test workflows with a scripted agent, or with a real one (--real).",
            ("smoke", "smoke --real --model openai:gpt-5-mini"),
            (),
        ),
        "mcp": Verb(
            "interchange",
            "Serve the workflow tools to an agent over MCP (standard input and output).",
            ("mcp --permission ask",),
            (),
        ),
        "forget": Verb(
            "",
            "Remove a workflow and its %%step cells from this notebook's memory; its runs stay.",
            ("forget sales",),
            (),
        ),
    },
}
"""Group to verbs, in the order of the help."""
HOMES: Final[Mapping[str, str]] = {
    verb: f"pixirnb.verbs.{about.module}:{verb}"
    for verbs in VERBS.values()
    for verb, about in verbs.items()
    if about.module
}
"""Verbs of the command line to their functions, which are loaded when a line names them."""
