"""Runs that are made once, and shared by the tests that damage their logs."""

from __future__ import annotations

import re

import pytest
from keptlogs import KINDS, Kept, made

from pixirnb.store.blobs import FileBlobs
from pixirnb.store.seal import read_seal


@pytest.fixture(scope="session")
def all_kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kept]:
    home = tmp_path_factory.mktemp("logs")
    kept = {}
    for kind in KINDS:
        run = made(kind, home / kind)
        seal, store = read_seal(run.folder), FileBlobs(run.folder / "blobs")
        assert seal is not None
        data = (run.folder / "log.jsonl").read_bytes()
        spilled = re.findall(rb'"\$blob":"([^"]+)"', data)
        blobs = {name.decode(): store.get(name.decode()) for name in spilled}
        kept[kind] = Kept(run.folder, data, run.history(), seal, blobs)
    return kept


@pytest.fixture(params=KINDS)
def kept(all_kept: dict[str, Kept], request: pytest.FixtureRequest) -> Kept:
    return all_kept[request.param]
