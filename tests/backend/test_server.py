"""The real thing: a server process on a real socket, with its stream of events, its end, its death and its return."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from compilemask_studio.services.worker_process import process_birth

SOURCE = "mask causal(n: int)\ntokens { S: n }\nS sees S causal\n"
START = (
    "import sys; from compilemask_studio import launcher; "
    "sys.exit(launcher.main(sys.argv[2:], worker_command=(sys.executable, '-S', sys.argv[1])))"
)


@dataclass
class Server:
    process: subprocess.Popen[str]
    link: str
    client: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx2.Client(base_url=self.link, timeout=20)

    def launch(self, *providers: str) -> int:
        body = {"source": SOURCE, "values": {"n": 8}, "providers": list(providers), "shape": {"head_dim": 16}}
        response = self.client.post("/api/launches", json=body)
        assert response.status_code == 201, response.text
        return response.json()["id"]

    def read_launch(self, launch_id: int) -> dict:
        return self.client.get(f"/api/launches/{launch_id}").json()

    def events(self, last_event_id: str | None = None) -> Iterator[tuple[str, str, dict]]:
        """(id, kind, data) of the event stream, until the server ends it."""
        headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        with self.client.stream("GET", "/api/events", headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            fields: dict[str, str] = {}
            for line in response.iter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif fields:
                    yield fields.get("id", ""), fields.get("event", ""), json.loads(fields.get("data", "{}"))
                    fields = {}


def start_process(worker: str, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START, worker, "--no-browser", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def start(worker_command, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    started: list[subprocess.Popen[str]] = []

    def start_server(*argv: str) -> Server:
        process = start_process(worker_command[-1], "--port", "0", "--database", f"{tmp_path}/studio.db", *argv)
        started.append(process)
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line.startswith("CompileMask Studio: http://127.0.0.1:"), line + process.stderr.read()
        return Server(process, line.split()[-1])

    yield start_server
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finish(process: subprocess.Popen[str], signal_number: int) -> tuple[int, str, str]:
    process.send_signal(signal_number)
    output, errors = process.communicate(timeout=15)
    return process.returncode, output, errors


def test_one_line_with_the_link_and_a_quiet_end_with_an_open_stream(start) -> None:
    server = start()
    assert server.client.get("/api/launches").json() == []
    stream = server.events()
    first = next(stream)
    assert first[0].isdecimal() and first[1:] == ("", {})
    began = time.monotonic()
    assert finish(server.process, signal.SIGTERM) == (0, "", "")
    assert time.monotonic() - began < 5
    assert list(stream) == []


def test_ctrl_c_ends_it_quietly_and_its_worker_with_it(start) -> None:
    server = start()
    launch_id = server.launch("hangs")
    pid = worker_of(server, launch_id)
    code, output, errors = finish(server.process, signal.SIGINT)
    assert (code, output, errors) == (0, "", "")
    assert not alive(pid)


def test_the_stream_tells_a_launch_from_queue_to_end_and_resumes(start) -> None:
    server = start()
    stream = server.events()
    next(stream)
    launch_id = server.launch("passes", "wrong")
    seen = []
    for event in stream:
        seen.append(event)
        if event[1] == "launch" and event[2]["launch"]["state"] == "done":
            break
    numbers = [int(event[0]) for event in seen]
    assert numbers == sorted(set(numbers))
    launches = [event[2]["launch"] for event in seen if event[1] == "launch"]
    told = [(launch["state"], launch["counts"]["finished"], launch["progress"]) for launch in launches]
    assert told == [("queued", 0, 0), ("running", 0, 0), ("running", 1, 0.5), ("running", 2, 1), ("done", 2, 1)]
    assert all("runs" not in launch and "request" not in launch for launch in launches)
    runs = [e[2]["run"] for e in seen if e[1] == "run"]
    assert {run["launch_id"] for run in runs} == {launch_id}
    assert [run["verdict"] for run in runs if run["state"] == "done"] == ["passed", "failed"]
    assert "running" in {run["state"] for run in runs} and "verify" in {run["stage"] for run in runs}
    again = server.events(seen[2][0])
    assert [next(again) for _ in seen[3:]] == seen[3:]
    assert next(server.events("12"))[1] == "reset"


def test_a_server_that_was_killed_leaves_nothing_running_and_its_queue_moves_on(start) -> None:
    server = start()
    launch_id = server.launch("passes", "stubborn", "slow")
    waiting = server.launch("passes")
    pid = worker_of(server, launch_id)
    server.process.kill()
    server.process.communicate()
    again = start()
    lost = again.read_launch(launch_id)
    assert lost["state"] == "lost" and "studio ended" in lost["reason"] and lost["finished_at"]
    assert [run["verdict"] for run in lost["runs"]] == ["passed", "error", "error"]
    wait_for(lambda: not alive(pid))
    wait_for(lambda: again.read_launch(waiting)["state"] == "done")


def test_cancel_over_the_wire(start) -> None:
    server = start()
    launch_id, queued = server.launch("hangs"), server.launch("passes")
    worker_of(server, launch_id)
    assert server.read_launch(launch_id)["position"] == 0 and server.read_launch(queued)["position"] == 1
    cancelled = server.client.post(f"/api/launches/{queued}/cancel").json()
    assert cancelled["state"] == "cancelled" and cancelled["runs"][0]["verdict"] == "cancelled"
    server.client.post(f"/api/launches/{launch_id}/cancel")
    wait_for(lambda: server.read_launch(launch_id)["state"] == "cancelled")
    assert server.client.post(f"/api/launches/{launch_id}/cancel").status_code == 409
    assert server.client.get("/api/launches?active=true").json() == []


def test_a_second_studio_says_what_is_taken(start, worker_command, tmp_path: Path) -> None:
    server = start()
    port = server.link.rstrip("/").rsplit(":", 1)[1]
    same_port = start_process(worker_command[-1], "--port", port, "--database", f"{tmp_path}/other.db")
    same_database = start_process(worker_command[-1], "--port", "0", "--database", f"{tmp_path}/studio.db")
    outputs = [process.communicate(timeout=20) for process in (same_port, same_database)]
    assert [process.returncode for process in (same_port, same_database)] == [1, 1]
    assert [output for output, _ in outputs] == ["", ""]
    assert f"port {port} is in use" in outputs[0][1]
    assert f"another studio (process {server.process.pid}) already uses {tmp_path}/studio.db" in outputs[1][1]
    assert server.client.get("/api/runs").status_code == 200


def worker_of(server: Server, launch_id: int) -> int:
    """The process id of the launch's worker, once a run of it that will not end is being verified."""
    wait_for(lambda: any(run["stage"] == "verify" for run in server.read_launch(launch_id)["runs"]))
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == server.process.pid and "--events-fd" in (stat.parent / "cmdline").read_text():
            return int(stat.parent.name)
    raise AssertionError("the launch has no worker")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return (
        process_birth(pid) is not None and "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    )


def wait_for(condition: Callable[[], bool], timeout_s: float = 15.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.03)
