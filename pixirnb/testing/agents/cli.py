"""A fake coding agent with a non-interactive mode: prints text, or JSON lines as `claude -p` and `codex exec --json` do.

python -m pixirnb.testing.agents.cli [--lines claude|codex] ACT… -- [PROMPT]

Without one it reads its prompt from standard input.

say:TEXT  tool:NAME:OUTPUT  usage:IN:OUT      as in `testing.agents.acp`
echo  env:NAME  exec:COMMAND                  the prompt said back · a variable's value · a command in its own session
noise  error:TEXT  flood:KIB                  a line that is no JSON · the turn ends in an error · standard error
tty  read                                     whether it is on a terminal · how much standard input there is
hang  exit:CODE  kill:SIGNAL                  as their names say
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any


def main(arguments: list[str]) -> None:
    """Do the acts, in order."""
    acts, prompt = arguments, ""
    if "--" in arguments:
        at = arguments.index("--")
        acts, prompt = arguments[:at], " ".join(arguments[at + 1 :])
    prompt = prompt or sys.stdin.read()
    form = ""
    if acts[:1] == ["--lines"]:
        form, acts = acts[1], acts[2:]
    last = ""
    for number, act in enumerate(acts, start=1):
        name, _, rest = act.partition(":")
        text = _text_of(name, rest.replace("\\n", "\n"), prompt)
        if text is not None:
            last = text
            _print(_message(form, text))
        else:
            _act(form, name, rest, f"call-{number}")
    if form == "claude":
        message = {"type": "result", "subtype": "success", "is_error": False, "result": last}
        _print({**message, "usage": {"input_tokens": 0, "output_tokens": 0}})


def _text_of(name: str, rest: str, prompt: str) -> str | None:
    match name:
        case "say":
            return rest
        case "echo":
            return prompt
        case "env":
            return f"{rest}={os.environ.get(rest, '<unset>')}"
        case "tty":
            return f"terminal: {sys.stdout.isatty()}"
        case "read":
            return f"standard input: {len(sys.stdin.read())}"
        case _:
            return None


def _act(form: str, name: str, rest: str, call: str) -> None:
    first, _, second = rest.partition(":")
    match name:
        case "tool":
            for line in _tool(form, first, second, call):
                _print(line)
        case "usage":
            usage = {"input_tokens": int(first), "output_tokens": int(second)}
            kind = "turn.completed" if form == "codex" else "result"
            _print({"type": kind, "usage": usage, "is_error": None})
        case "error":
            if form == "codex":
                _print({"type": "turn.failed", "error": {"message": rest}})
            else:
                _print({"type": "result", "subtype": "error", "is_error": True, "result": rest})
        case "noise":
            _print("this is no JSON")
        case "flood":
            for _ in range(int(rest)):
                sys.stderr.write("x" * 1023 + "\n")
        case "exec":
            subprocess.Popen(["sh", "-c", rest], start_new_session=True)
        case "exit":
            sys.stdout.flush()
            os._exit(int(rest))
        case "kill":
            sys.stdout.flush()
            os.kill(os.getpid(), int(rest))
        case "hang":
            while True:
                time.sleep(1)
        case _:
            sys.exit(f"no such act: {name}")


def _message(form: str, text: str) -> dict[str, Any] | str:
    match form:
        case "claude":
            content = [{"type": "text", "text": text}]
            return {"type": "assistant", "message": {"role": "assistant", "content": content}}
        case "codex":
            item = {"id": "m", "type": "agent_message", "text": text}
            return {"type": "item.completed", "item": item}
        case _:
            return text


def _tool(form: str, name: str, output: str, call: str) -> list[dict[str, Any] | str]:
    if form == "claude":
        use = {"type": "tool_use", "id": call, "name": name, "input": {"about": name}}
        result = {"type": "tool_result", "tool_use_id": call, "content": output}
        return [
            {"type": "assistant", "message": {"role": "assistant", "content": [use]}},
            {"type": "user", "message": {"role": "user", "content": [result]}},
        ]
    if form == "codex":
        item = {"id": call, "type": "command_execution", "command": name}
        done = {**item, "aggregated_output": output, "exit_code": 0, "status": "completed"}
        return [
            {"type": "item.started", "item": {**item, "status": "in_progress"}},
            {"type": "item.completed", "item": done},
        ]
    return [f"{name}: {output}"]


def _print(line: dict[str, Any] | str) -> None:
    sys.stdout.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
