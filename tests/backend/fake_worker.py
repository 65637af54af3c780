"""A worker that speaks the protocol and does what its providers are called; it needs no torch and starts at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

PROVIDERS = (
    "passes", "wrong", "raises", "segfault", "exits", "hangs", "stubborn", "garbage", "foreign", "nan", "silent",
    "lingers", "leaves-a-child", "slow", "half-line", "not-a-result",
)  # fmt: skip


def main() -> None:
    if "--probe" in sys.argv:
        providers = [
            {"name": name, "title": name.title(), "kind": "impl", "usable": True, "reason": None} for name in PROVIDERS
        ]
        providers.append(
            {"name": "absent", "title": "Absent", "kind": "peer", "usable": False, "reason": "no such device"}
        )
        device = {"name": "cpu", "kind": "cpu", "memory_bytes": None, "detail": ""}
        print("a library says hello on standard output")
        print(json.dumps({"providers": providers, "devices": [device], "versions": {"fake": "1"}}))
        return
    events = os.fdopen(int(sys.argv[sys.argv.index("--events-fd") + 1]), "w", buffering=1)

    def emit(event: str, **fields: object) -> None:
        events.write(json.dumps({"event": event, **fields}) + "\n")

    job = json.load(sys.stdin)
    for case in job["cases"]:
        measure(case, emit, events)
    emit("finished")
    if any(case["provider"] == "lingers" for case in job["cases"]):
        time.sleep(60)


def measure(case: dict, emit, events) -> None:
    case_id, provider = case["case_id"], case["provider"]
    if provider == "silent":
        sys.exit(0)
    emit("started", case_id=case_id)
    emit("progress", case_id=case_id, stage="verify", fraction=0.5)
    match provider:
        case "raises":
            emit("error", case_id=case_id, reason="head_dim 3 is not supported", detail="Traceback ...")
            return
        case "segfault":
            print("about to crash", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exits":
            print("CUDA error: out of memory", flush=True)
            os._exit(3)
        case "hangs":
            time.sleep(60)
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            time.sleep(60)
        case "garbage":
            events.write("Loading weights: 100%\n")
            time.sleep(60)
        case "half-line":
            events.write('{"event": "resu')
            events.flush()
            os._exit(0)
        case "foreign":
            emit("result", case_id="nobody", result={})
            time.sleep(60)
        case "not-a-result":
            emit("result", case_id=case_id, result={"verdict": "splendid"})
            time.sleep(60)
        case "leaves-a-child":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], pass_fds=(events.fileno(),))
        case "slow":
            time.sleep(0.5)
    emit("result", case_id=case_id, result=result(case_id, provider))


def result(case_id: str, provider: str) -> dict[str, object]:
    passed = provider != "wrong"
    return {
        "case_id": case_id,
        "verdict": "passed" if passed else "failed",
        "reason": None if passed else "the error is above the tolerance",
        "impl_detail": "fake",
        "max_error": "NaN" if provider == "nan" else 1e-6,
        "mean_error": 1e-7,
        "tolerance": 1e-5,
        "yardstick_error": 5e-6,
        "lse_max_error": "-Infinity" if provider == "nan" else 0.0,
        "worst_index": [0, 0, 1, 2],
        "rows_checked": 8,
        "rows_total": 8,
        "median_ms": 1.5,
        "p20_ms": 1.4,
        "p80_ms": 1.6,
        "min_ms": 1.3,
        "samples_ms": [1.5, 1.4, "Infinity"] if provider == "nan" else [1.5, 1.4, 1.6],
        "warmup_runs": 3,
        "tflops": 1e400 if provider == "nan" else 2.0,
        "plan_ms": 0.1,
        "cache_state": "warm",
        "device": "cpu",
        "environment": {"fake": "1"},
    }


main()
