"""References: what they name, what they render to, and that a shell never reads a value as script."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.spec.expressions.references import (
    BadReference,
    Reference,
    Template,
    parse_references,
    pick,
    read_all,
    render,
    render_value,
    shell_template,
)
from tests.sweeps import examples

VALUES: dict[str, Any] = {"n": 3, "name": "ada", "names": ["a", {"k": "é"}], "none": None}


def lookup(reference: Reference) -> Any:
    return pick(VALUES[reference.name], reference)


def test_a_reference_says_what_it_names_and_where_it_stands() -> None:
    text = "x {{ steps.a-b.output.k.0 }}{{inputs.n}}"
    first, second = parse_references(text)
    assert first == Reference(
        "step", "a-b", "output", ("k", "0"), "{{ steps.a-b.output.k.0 }}", 2, 28
    )
    assert (second.source, second.name, second.part, second.fields) == ("input", "n", "value", ())
    assert text[second.start : second.end] == second.text == "{{inputs.n}}"


@pytest.mark.parametrize(
    ("text", "source", "part"),
    [
        ("{{ steps.s.output_path }}", "step", "output_path"),
        ("{{ steps.s.summary }}", "step", "summary"),
        ("{{ run.id }}", "run", "id"),
        ("{{\n inputs.n\t}}", "input", "value"),
    ],
)
def test_every_kind_of_reference_is_read(text: str, source: str, part: str) -> None:
    (reference,) = parse_references(text)
    assert (reference.source, reference.part) == (source, part)


@pytest.mark.parametrize(
    "body",
    ["", "x", "steps", "steps.a", "steps.a.exit", "steps.a.summary.x", "steps.a.output.", "inputs",
     "inputs.", "inputs.a b", "inputs.n | upper", "run", "run.name", "run.id.x", "steps.a@0.output",
     "inputs.n.__class__()", "{ inputs.n }", ".State.Status"],
)  # fmt: skip
def test_what_is_no_reference_is_refused(body: str) -> None:
    with pytest.raises(BadReference) as caught:
        parse_references("a {{ inputs.ok }} {{" + body + "}}")
    assert caught.value.code == "bad_reference"
    assert caught.value.fix


@pytest.mark.parametrize("text", ["{{", "a {{ inputs.n", "{{ inputs.n }", "{{ {{ inputs.n }}"])
def test_braces_that_open_must_close(text: str) -> None:
    with pytest.raises(BadReference):
        parse_references(text)


def test_one_bad_reference_hides_no_other() -> None:
    text = (
        "{{ inputs.a }} '{{ inputs.b }}' {{ bogus }} \"{{ run.id }}\" {{ steps.s.nothing }} {{ run"
    )
    good, wrong = read_all(text, is_script=True)
    assert [reference.text for reference in good] == [
        "{{ inputs.a }}",
        "{{ inputs.b }}",
        "{{ run.id }}",
    ]
    assert [(bad.code, text[slice(*bad.span)]) for bad in wrong] == [
        ("bad_reference", "{{ bogus }}"),
        ("bad_reference", "{{ steps.s.nothing }}"),
        ("bad_reference", "{{ run"),
        ("quoted_reference", "{{ inputs.b }}"),
        ("quoted_reference", "{{ run.id }}"),
    ]


RENDERED: list[tuple[str, Any]] = [
    ("{{ inputs.n }}", 3),
    ("{{ inputs.names }}", ["a", {"k": "é"}]),
    (" {{ inputs.n }}", " 3"),
    ("{{ inputs.name }}/{{ inputs.n }}", "ada/3"),
    ("v={{ inputs.names }}", 'v=["a",{"k":"é"}]'),
    ("v={{ inputs.none }}", "v=null"),
    ("{{ inputs.names.1.k }}", "é"),
    ("plain }} text", "plain }} text"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "value"), RENDERED)
def test_a_lone_reference_keeps_its_type_and_any_other_is_text(text: str, value: Any) -> None:
    assert render(Template.parse(text), lookup) == value


def test_nested_values_are_rendered_in_place() -> None:
    value = {"{{ inputs.n }}": ["{{ inputs.n }}", 5, "n={{ inputs.n }}"]}
    assert render_value(value, lookup) == {"{{ inputs.n }}": [3, 5, "n=3"]}


@pytest.mark.parametrize("fields", ["names.2", "names.x", "n.x", "name.0", "names.1.gone"])
def test_a_missing_field_is_a_lookup_error(fields: str) -> None:
    (reference,) = parse_references("{{ inputs." + fields + " }}")
    with pytest.raises(LookupError):
        lookup(reference)


FREE = [
    "printf %s {{ inputs.n }}",
    "printf %s --x={{ inputs.n }}/y",
    "printf %s {{ inputs.n }}{{ inputs.n }}",
    "printf %s 'a b'{{ inputs.n }}\"c d\"",
    "x={{ inputs.n }}; printf %s \"$x\"",
    "printf %s $(printf %s {{ inputs.n }})",
    "(printf %s {{ inputs.n }})",
    "# it's \" a ` comment\nprintf %s {{ inputs.n }}",
    "echo a#'b' >/dev/null; printf %s {{ inputs.n }}",
    "cat >/dev/null <<EOF\n\" '\nEOF\nprintf %s {{ inputs.n }}",
    "cat >/dev/null <<-'EOF'\n\t'\n\tEOF\nprintf %s {{ inputs.n }}",
    "echo $((1 + (2))) $# $$ >/dev/null; printf %s {{ inputs.n }}",
    "echo $((1<<2)) >/dev/null\nprintf %s {{ inputs.n }}",
    "echo ${HOME:-\"}\"} ${#HOME} >/dev/null; printf %s {{ inputs.n }}",
    r"echo \' \" \\ >/dev/null; printf %s {{ inputs.n }}",
    "case {{ inputs.n }} in a) ;; *) printf %s {{ inputs.n }};; esac",
    "echo \"$(case x in x) echo '\"';; esac)\" >/dev/null; printf %s {{ inputs.n }}",
    "f() { printf %s {{ inputs.n }}; }; f",
    "echo `echo \"'\"` >/dev/null; printf %s {{ inputs.n }}",
    "printf %s \\\n{{ inputs.n }}",
    "printf %s {{ inputs.n }} 2>&1",
    "if true; then printf %s {{ inputs.n }}; fi",
    "cat < /dev/null; printf %s {{ inputs.n }} # it's over",
]  # fmt: skip
HOSTILE = 'it\'s "$(exit 9)" `exit 9` $HOME * ; # \\ é'
SHELLS = [shell for shell in ("sh", "bash", "dash") if shutil.which(shell)]


@pytest.mark.parametrize("text", FREE)
def test_where_a_reference_may_stand_the_shell_keeps_its_value_whole(text: str) -> None:
    # Substitutions and assignments keep a value whole as well, once it has no blanks to split at.
    value = HOSTILE if "$(printf" not in text else "$(exit)`exit`;"
    template = shell_template(text)
    variables = {f"PIXIRNB_REF_{n}": value for n in range(1, len(template.references) + 1)}
    for shell in SHELLS:
        argv = [shell, "-c", template.script]
        done = subprocess.run(
            argv, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert value in done.stdout


QUOTED = [
    "echo '{{ inputs.n }}'",
    'echo "{{ inputs.n }}"',
    "echo \"a $(cat {{ inputs.n }}) b\"",
    "echo \"${x:-{{ inputs.n }}}\"",
    "echo ${x:-{{ inputs.n }}}",
    "echo `cat {{ inputs.n }}`",
    "echo $'{{ inputs.n }}'",
    "echo $'it\\'s' {{ inputs.n }}",
    "echo $(( {{ inputs.n }} + 1 ))",
    "echo $(( (1) + {{ inputs.n }} ))",
    "(( {{ inputs.n }} > 1 ))",
    "echo $[ {{ inputs.n }} ]",
    "echo ${{ inputs.n }}",
    "echo \\{{ inputs.n }}",
    "echo # {{ inputs.n }}",
    "echo;# {{ inputs.n }}",
    "cat <<EOF\n{{ inputs.n }}\nEOF",
    "cat <<'E F' <<B\nx\nE F\n{{ inputs.n }}\nB",
    "cat <<{{ inputs.n }}\nx",
    "cat <<-EOF\n\tEOF \n{{ inputs.n }}\n\tEOF",
    "echo 'never closed {{ inputs.n }}",
    "echo \"$(case x in x) echo {{ inputs.n }};; esac)\"",
    "echo \"$(case x in (x) echo 1;; esac) {{ inputs.n }}\"",
    "echo {{ inputs.n }} '{{ inputs.n }}'",
    "echo \"`echo \\`x\\``{{ inputs.n }}\"",
    "echo \"a'b\" 'c\"{{ inputs.n }}'",
]  # fmt: skip


@pytest.mark.parametrize("text", QUOTED)
def test_where_a_shell_would_read_it_otherwise_a_reference_is_refused(text: str) -> None:
    with pytest.raises(BadReference) as caught:
        shell_template(text)
    assert caught.value.code == "quoted_reference"
    assert "{{ inputs.n }}" in caught.value.message


def test_text_without_references_is_left_alone_however_odd() -> None:
    assert shell_template("echo 'never closed").script == "echo 'never closed"


def test_references_are_numbered_in_order_of_appearance() -> None:
    template = shell_template("a {{ inputs.b }} {{ run.id }} {{ inputs.b }}")
    assert template.script == 'a "$PIXIRNB_REF_1" "$PIXIRNB_REF_2" "$PIXIRNB_REF_3"'
    assert [reference.name for reference in template.references] == ["b", "run", "b"]


fragments = st.sampled_from(
    ["a", " ", "'", '"', "`", "$", "(", ")", "((", "))", "${", "}", "\\", "#", "\n", "<<E", "E\n",
     "case x in ", "esac", ";", "$(", "{{ run.id }}", "|", "&"]
)  # fmt: skip


@given(st.lists(fragments, max_size=14).map("".join))
@settings(max_examples=examples(300), deadline=None)
def test_any_line_is_a_script_or_refused(text: str) -> None:
    try:
        script = shell_template(text).script
    except BadReference as refusal:
        script = refusal.code
    assert "{{ run.id }}" not in script
