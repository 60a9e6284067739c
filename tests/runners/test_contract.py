"""Every runner of ours keeps the promises of `protocols.ports.Runner`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pixirnb.protocols.ports import Runner
from pixirnb.protocols.work import PythonWork, ScriptedWork, ShellWork, Work
from pixirnb.runners.agents.runner import AgentRunner, ScriptedRunner
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.runners.shell import ShellRunner
from pixirnb.testing.contracts.runner import RunnerContract
from pixirnb.testing.fakes.agent_stage import coding_agent, fake

SOURCE = """
import sys, time

def speaks():
    print("hello")
    print("worry", file=sys.stderr)

def fails():
    raise ValueError("no")

def hangs():
    print("ready")
    time.sleep(60)
"""


class TestShellLine(RunnerContract):
    def runner(self, supervisor: Supervisor) -> Runner:
        return ShellRunner(supervisor)

    def speaks(self) -> Work:
        return ShellWork("echo hello; echo worry >&2")

    def fails(self) -> Work:
        return ShellWork("exit 3")

    def says_ready_and_hangs(self) -> Work:
        return ShellWork("echo ready; sleep 60")

    def cannot_start(self) -> Work:
        return ShellWork(["there-is-no-such-command"])


class TestShellList(TestShellLine):
    def speaks(self) -> Work:
        return ShellWork(["echo", "hello"])

    def fails(self) -> Work:
        return ShellWork(["false"])

    def cannot_start(self) -> Work:
        return ShellWork([])


class TestPythonThread(RunnerContract):
    status_when_stopped: ClassVar[str | None] = "detached"
    process = False

    def runner(self, supervisor: Supervisor) -> Runner:
        return PythonRunner(supervisor)

    def speaks(self) -> Work:
        return self._call("speaks")

    def fails(self) -> Work:
        return self._call("fails")

    def says_ready_and_hangs(self) -> Work:
        return self._call("hangs")

    def cannot_start(self) -> Work:
        return self._call("missing")

    def _call(self, name: str) -> Work:
        return PythonWork(f":{name}", {}, SOURCE, self.process)


class TestPythonProcess(TestPythonThread):
    status_when_stopped = None
    process = True


class TestScripted(RunnerContract):
    def runner(self, supervisor: Supervisor) -> Runner:
        return ScriptedRunner(supervisor)

    def speaks(self) -> Work:
        return ScriptedWork("hello", [])

    def fails(self) -> Work:
        return ScriptedWork("hello", [{"fail": "context_overflow", "message": "full"}])

    def says_ready_and_hangs(self) -> Work:
        return ScriptedWork("hello", [{"say": "ready"}, {"hang": True}])

    def cannot_start(self) -> Work:
        return ScriptedWork("hello", [{"sleep": "for ever"}])


class TestCliAgent(RunnerContract):
    def runner(self, supervisor: Supervisor) -> Runner:
        return AgentRunner(supervisor)

    def speaks(self) -> Work:
        return self._agent("say:hello")

    def fails(self) -> Work:
        return self._agent("exit:3")

    def says_ready_and_hangs(self) -> Work:
        return self._agent("say:ready", "hang")

    def cannot_start(self) -> Work:
        return coding_agent("cli", ["./there-is-no-such-agent", "-p"], Path())

    def _agent(self, *acts: str) -> Work:
        return coding_agent("cli", fake("cli", *acts), Path())
