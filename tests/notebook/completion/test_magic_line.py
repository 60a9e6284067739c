"""On a magic's line its options are offered, and behind each what it takes. Outside of our cells there is silence."""

from __future__ import annotations

import pytest

from pixirnb.notebook.completion.commands import verbs
from pixirnb.notebook.kernel.line_args import STATUSES, WAITING_VERBS
from pixirnb.notebook.pixir_verbs import build_verbs
from tests.notebook.imagined_notebook import MAGICS, OLDER, RUN, completions, offered

BODY = "\ninputs: {size: {type: integer}}\nsteps:\n  - {id: a, run: x}\n"


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("%%workflow de⌖", ["demo"]),
        ("%%workflow demo --w⌖" + BODY, ["--wait", "--workspace"]),
        ("%%workflow demo --run --r⌖" + BODY, []),
        ("%%workflow demo --input size=1 --inp⌖" + BODY, ["--input"]),
        ("%%workflow demo --input ⌖" + BODY, ["size="]),
        ("%%workflow demo --input size=⌖" + BODY, []),
        ("%%workflow demo --expect ⌖" + BODY, [*STATUSES]),
        ("%%workflow demo --expect partial,f⌖" + BODY, ["failed"]),
        ("%%workflow demo --expect=p⌖" + BODY, ["partial"]),
        ("%%workflow demo --workspace s⌖" + BODY, ["src/"]),
        ("\n%%workflow demo --dry⌖" + BODY, ["--dry-run"]),
        ("%%step new --t⌖", ["--title", "--timeout", "--try"]),
        ("%%step new --workflow ⌖\nreturn 1", ["demo"]),
        ("%%step new --workflow demo --after ⌖", ["make", "gate"]),
        ("%%step new --workflow demo --after make,⌖", ["gate"]),
        ("%%step gate --workflow demo --after ⌖", ["make"]),
        ("%%step new --use ⌖", ["frame", "names"]),
        ("%%step new --use frame,⌖", ["names"]),
        ("%%step new --write src/⌖", ["api/", "a.py"]),
        ("%%step new --verify f⌖", ["file_exists:"]),
        ("%%step new --verify :⌖", [":score"]),
        ("%%step new --timeout ⌖", []),
        ("%pixir re⌖", ["resume"]),
        ("x = %pixir re⌖", ["resume"]),
        ("print(1)\n%pixir show r⌖\nprint(2)", [RUN, OLDER]),
        ("%pixir plan f⌖", ["flow.yaml"]),
        ("%pixir run d⌖", ["demo", "data/"]),
        ("%pixir run demo --input ⌖", ["n="]),
        ("%pixir run demo --expect f⌖", ["failed"]),
        (f"%pixir resume {RUN} --from ⌖", ["make", "gate"]),
        (f"%pixir resume {RUN} --only g⌖", ["gate"]),
        (f"%pixir resume {RUN} --until m⌖", ["make"]),
        (f"%pixir resume {RUN} --checkpoint ⌖", ["end"]),
        (f"%pixir resume {RUN} --input ⌖", ["n="]),
        (f"%pixir show {RUN} g⌖", ["gate"]),
        (f"%pixir cancel {RUN} m⌖", ["make"]),
        (f"%pixir decide {RUN} gate a⌖", ["accept"]),
        (f"%pixir decide {RUN} gate r⌖", ["reject"]),
        (f"%pixir decide {RUN} gate accept --value ⌖", ["now", "'not yet'"]),
        (f"%pixir fork {RUN} e⌖", ["end"]),
        ("%pixir forget ⌖", ["demo"]),
        (f"%pixir compare {RUN} r⌖", [OLDER]),
        (f"%pixir decide {RUN} gate accept --va⌖", ["--value"]),
        (f"%pixir diff {RUN} m⌖", ["make"]),
        (f"%pixir merge {RUN} m⌖", ["make"]),
        (f"%pixir merge {RUN} make g⌖", ["gate"]),
        (f"%pixir merge {RUN} --side w⌖", ["workspace"]),
        (f"%pixir merge {RUN} make --side src/a.py=g⌖", ["gate"]),
        ("%pixir prune --status nee⌖", ["needs_orchestrator"]),
        ("%pixir nonsense ⌖", []),
        ("%pixir log 'unclosed ⌖", []),
    ],
)
def test_a_line_offers_what_may_come_next(cell: str, wanted: list[str]) -> None:
    assert offered(cell) == wanted


def test_a_decision_offers_the_steps_that_wait_for_one_first() -> None:
    assert offered(f"%pixir decide {RUN} ⌖")[:3] == ["gate", "s1", "make"]


def test_runs_are_named_newest_first_with_workflow_and_status() -> None:
    found = completions("%pixir show ⌖")
    assert found is not None
    assert (found.candidates[0].text, found.candidates[0].about) == (RUN, "demo · partial")


def test_every_verb_and_each_of_its_options_is_offered_with_a_sentence() -> None:
    app = build_verbs()
    first = {id(app[name]): name for name in reversed([*app])}  # without other names of a verb
    names = [name for name in app if name in first.values() and not name.startswith("-")]
    found = completions("%pixir ⌖")
    assert found is not None
    assert [each.text for each in found.candidates] == names
    for name in names:
        flags = {
            argument.name
            for argument in app[name].assemble_argument_collection()
            if argument.show and "POSITIONAL" not in str(argument.field_info.kind)
        }
        staying = {"--wait", "--expect", "--as"} if name in WAITING_VERBS else set()
        assert {option.names[0] for option in verbs()[name].options} == flags | staying
        assert [each for each in verbs()[name].options if not each.about] == []


def test_both_names_of_the_magic_and_of_an_option_complete() -> None:
    for line in ("%pixirnb sho⌖", "%pixir sho⌖"):
        found = completions(line)
        assert found is not None
        assert [each.text for each in found.candidates] == ["show"]
    for option in ("--after", "--depends-on", "--depends-on="):
        found = completions(
            f"%%step new --workflow demo {option}{'' if option[-1] == '=' else ' '}⌖"
        )
        assert found is not None
        assert [each.text for each in found.candidates] == ["make", "gate"]


def test_the_options_of_cells_are_those_their_parsers_take() -> None:
    for name in ("workflow", "step"):
        found = completions(f"%%{name} x --⌖")
        assert found is not None
        assert all(each.about for each in found.candidates)
        assert "--awaited" not in [each.text for each in found.candidates]
    assert MAGICS["step"].words == ("id",)
    assert {"--after", "--use", "--try"} <= {o.names[0] for o in MAGICS["step"].options}


@pytest.mark.parametrize(
    "cell",
    [
        "imp⌖",
        "%%step a --workflow demo\nimp⌖",
        "%%workflo⌖",
        "%%workflow⌖",
        "%%bash\n%pixir ⌖",
        "%%writefile x\nname: ⌖",
        "%pixi⌖",
        "pixir.⌖",
        "x = 1 %pixir ⌖",
        "# %%workflow\nna⌖",
        "⌖",
    ],
)
def test_what_is_not_ours_is_left_to_others(cell: str) -> None:
    assert completions(cell) is None
