"""A merge's process dies with `done` written and not yet durable: what others make of it outlives a power failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.crash_points.drills import drilled

DRILL = """
from pixirnb.testing.fakes.memory_trees import MemoryTrees
from pixirnb.workspace.merge.apply import Part, apply, left_over, lock_roots

top, reader = Path(sys.argv[1]).resolve(), sys.argv[2]
number, state = 0, ""
while state != "done":
    number += 1
    disk, kept = top / f"{number}" / "disk", top / f"{number}" / "durable"
    os.environ["XDG_CONFIG_HOME"] = str(disk / "config")
    store, journals = MemoryTrees(disk / "files"), disk / "journals"
    for folder in (store.root, journals):
        folder.mkdir(parents=True)
    (store.root / "changed").write_text("before")
    before = store.taken()
    after = store.edited(before, {"changed": store.file(b"after")})

    def dying():
        durable = Durable(disk)
        tap.arm(disk, Fault("die-after", number, "rename"), durable, lambda _: kept.write_bytes(durable.document()))
        with lock_roots([store.root]):
            apply([Part(store, before, after)], journals / "merge.json", {})

    assert forked(dying) == -9, number
    state = next((left.state for left in left_over(journals)), "")


def reading():
    durable = Durable(disk, kept.read_bytes())
    tap.arm(disk, None, durable, lambda _: None)
    if reader == "its run":
        assert [left.state for left in left_over(journals)] == ["done"]
    else:
        with lock_roots([store.root]):
            pass
    tap.disarm()
    durable.lose()


assert forked(reading) == 0
with lock_roots([store.root]):
    print(json.dumps({"states": [left.state for left in left_over(journals)], "is_merged": store.taken() == after}))
"""


@pytest.mark.parametrize("reader", ["its run", "whoever locks the root next"])
def test_a_merge_that_is_taken_for_done_stays_done(reader: str, tmp_path: Path) -> None:
    assert drilled(DRILL, str(tmp_path), reader) == {"states": ["done"], "is_merged": True}
