"""A line of words that names no verb, or leaves out what its verb needs, is told in words that the help uses."""

from __future__ import annotations

import pytest
from cyclopts.exceptions import CycloptsError

from pixirnb.verbs.answers import Desk
from pixirnb.verbs.app import build
from pixirnb.verbs.options import slip, verb_of


@pytest.mark.parametrize(
    ("line", "verb", "sentence"),
    [
        ("resume", "resume", "`resume` needs RUN, which is not said."),
        ("decide r-1", "decide", "`decide` needs STEP, which is not said."),
        ("run x.yaml --input", "run", "`--input` needs a value."),
        ("show a b c", "show", "`show` knows nothing to do with `c`."),
        ("nonsense", "", 'Unknown command "nonsense".'),
        ("runs --limit x", "runs", "Invalid value for --limit"),
        ("run x.yaml --dri-run", "run", "--dri-run"),
    ],
)
def test_a_slip_is_a_sentence_that_names_the_verb_and_what_it_lacks(
    line: str, verb: str, sentence: str
) -> None:
    with pytest.raises(CycloptsError) as caught:
        build(Desk())(line.split(), exit_on_error=False, print_error=False)
    assert sentence in slip(caught.value)
    assert "\n" not in slip(caught.value)
    assert verb_of(caught.value) == verb
