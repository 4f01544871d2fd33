#!/usr/bin/env python3
# Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times compiled operators beside other people's kernels on one GPU, in one run.

    tests/bench/gpu/peers.py --h3gen build/release/bin/h3gen --out DIR
    tests/bench/gpu/peers.py --h3gen ... --out DIR --only swiglu --schedules FILE --no-peers
    tests/bench/gpu/peers.py --h3gen ... --ncu | sh

Writes DIR/peers.json and DIR/peers.md. README.md beside the folder says what is in them. Exits 1 if
h3gen failed or a result of it differs from eager in a bit, 3 if there is no GPU; how fast anything is
decides nothing.
"""

import argparse
import functools
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import kernels
import torch
import triton
from safetensors.torch import save_file

SPECS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "specs")
GRAPH_LAUNCHES = 128  # the least in a graph, as in runtime/cuda/Session.h
ROTATED_BYTES = 256 << 20  # of all copies of the buffers together, as in `h3gen run --time`
ROTATED_COPIES = 8
SAMPLE_MS = 40.0  # on the device, for one figure; as long before it to warm up
f16, f32 = torch.float16, torch.float32


# ---- What is timed


@dataclass
class Case:
    operator: str
    shape: str
    buffers: dict  # tensors, as the file for h3gen has them
    bind: dict  # the operator's inputs: names or slices of buffers
    arguments: Callable  # buffers -> what eager and the peers take
    outputs: list
    eager: Callable
    peers: dict = field(default_factory=dict)  # by name, beside eager, its compilation and a copy
    asked: list = field(default_factory=list)  # (peers of which the fastest counts, the most of it)

    @property
    def title(self):
        return f"{self.operator} {self.shape}"

    @property
    def file(self):
        return "".join(c if c.isalnum() else "_" for c in self.title) + ".safetensors"

    @functools.cached_property
    def expected(self):
        return self.eager(*self.arguments(self.buffers))

    @property
    def moved(self):
        """The bytes that the operator must read and write."""
        inputs = self.arguments(self.buffers)
        return sum(t.numel() * t.element_size() for t in (*inputs, *self.expected))

    @property
    def copies(self):
        """As many sets of buffers as h3gen takes."""
        tensors = (*self.buffers.values(), *self.expected)
        size = sum(t.numel() * t.element_size() for t in tensors)
        return max(ROTATED_COPIES, -(-ROTATED_BYTES // size))


def draw(*shape, dtype=f32, device="cuda"):
    return torch.randn(shape, device=device).to(dtype)


def qk_case(device, batch, tokens, asked):
    angle = draw(batch, tokens, 24, device=device).repeat(1, 1, 2)
    return Case(
        "qk_norm_rope",
        f"[{batch}, {tokens}, 32, 64]",
        {
            "qkv": draw(batch, tokens, 32, 192, dtype=f16, device=device),
            "cos": angle.cos().half(),
            "sin": angle.sin().half(),
        },
        {"q": "qkv[..., 0:64]", "k": "qkv[..., 64:128]", "cos": "cos", "sin": "sin"},
        lambda b: (b["qkv"][..., 0:64], b["qkv"][..., 64:128], b["cos"], b["sin"]),
        ["q_out", "k_out"],
        kernels.qk_norm_rope,
        {"triton": kernels.triton_qk_norm_rope},
        [(["triton"], asked)],
    )


def residual_case(device, shape, asked):
    """With a weight: followed by the norm."""
    normed = asked == "norm"
    names = ["residual", "branch", "scale"] + ["weight"] * normed
    triton_kernel = kernels.triton_residual_eager_norm if normed else kernels.triton_residual
    label = "triton residual, eager norm and cast" if normed else "triton"
    peers = {
        f"{label}, {warps} warps": functools.partial(triton_kernel, warps=warps) for warps in (4, 8)
    }
    buffers = {
        "residual": draw(*shape, device=device),
        "branch": draw(*shape, dtype=f16, device=device),
        "scale": draw(shape[-1], device=device),
        "weight": draw(shape[-1], device=device),
    }
    return Case(
        "residual_rms_norm" if normed else "scaled_residual",
        f"{list(shape)}",
        {name: buffers[name] for name in names},
        {name: name for name in names},
        lambda b: tuple(b[name] for name in names),
        ["h", "y"] if normed else ["h"],
        kernels.residual_rms_norm if normed else kernels.scaled_residual,
        peers,
        [(list(peers), 0.60)] if normed else [(["torch.compile"], 1.0)],
    )


def swiglu_case(device, tokens, width):
    return Case(
        "swiglu",
        f"[1, {tokens}, {width}]",
        {"x": draw(1, tokens, width, dtype=f16, device=device)},
        {"x": "x"},
        lambda b: (b["x"],),
        ["y"],
        kernels.swiglu,
        asked=[(["torch.compile"], 1.0)],
    )


CASES = [
    lambda device: qk_case(device, 2, 1797, 0.70),
    lambda device: qk_case(device, 1, 195, 0.62),
    lambda device: residual_case(device, (2, 1797, 2048), "norm"),
    lambda device: swiglu_case(device, 1797, 16384),
    lambda device: residual_case(device, (1797, 2048), "compile"),
    lambda device: residual_case(device, (2, 1797, 2048), "compile"),
]


# ---- Peers


class Replay:
    """A call recorded many times in a CUDA graph, on sets of arguments in turn."""

    def __init__(self, call, sets):
        call(*sets[0])
        torch.cuda.synchronize()
        turns = -(-GRAPH_LAUNCHES // len(sets))
        self.launches = turns * len(sets)
        self.sets = sets  # the graph has their addresses
        self.held = [None] * len(sets)  # results: each set has memory of its own
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(turns):
                for place, arguments in enumerate(sets):
                    self.held[place] = None
                    self.held[place] = call(*arguments)
        self.replays = 1
        self.run()
        self.replays = max(1, round(SAMPLE_MS / max(self.run(), 1e-3)))

    def run(self):
        """Milliseconds that the replays take together."""
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(self.replays):
            self.graph.replay()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop)

    def sample(self):
        """Microseconds a call."""
        self.run()
        return self.run() * 1000 / (self.replays * self.launches)


def different(results, expected):
    """How many elements differ in a bit."""
    count = 0
    for result, wanted in zip(results, expected, strict=True):
        bits = torch.int32 if wanted.element_size() == 4 else torch.int16
        count += (result.contiguous().view(bits) != wanted.contiguous().view(bits)).sum().item()
    return count


def copy_call(size):
    half = size // 2

    def make():
        return [torch.empty(half, dtype=torch.uint8, device="cuda") for _ in range(2)]

    sets = [make() for _ in range(max(ROTATED_COPIES, -(-ROTATED_BYTES // size)))]
    return (lambda to, source: to.copy_(source)), sets


def prepare_peers(case, options):
    """By name: {"different": ..., "replays": {"same": Replay, "rotated": Replay}}."""
    sets = [case.arguments(case.buffers)]
    while len(sets) < case.copies:
        sets.append(case.arguments({k: v.clone() for k, v in case.buffers.items()}))
    # Several launch layouts for each kernel, of which the fastest is taken.
    chosen = (
        {"mode": options.compile_mode}
        if options.compile_mode
        else {"options": {"max_autotune_pointwise": True}}
    )
    compiled = torch.compile(case.eager, dynamic=False, **chosen)
    calls = {**case.peers, "torch.compile": compiled, "eager": case.eager}
    prepared = {}
    for name, call in calls.items():
        if any(text in name for text in options.skip):
            continue
        try:
            for _ in range(3):
                results = call(*sets[0])
            prepared[name] = {
                "different": different(results, case.expected),
                "replays": {"same": Replay(call, sets[:1]), "rotated": Replay(call, sets)},
            }
        except Exception as error:  # noqa: BLE001 - a peer that does not run is reported
            print(f"{case.title}: {name} failed: {error}", file=sys.stderr, flush=True)
            prepared[name] = {"error": f"{type(error).__name__}: {error}"[:500]}
    call, sets = copy_call(case.moved)
    prepared["copy"] = {"replays": {"same": Replay(call, sets[:1]), "rotated": Replay(call, sets)}}
    return prepared


# ---- Ours


def write_file(case, folder, with_results):
    tensors = dict(case.buffers)
    if with_results:
        tensors.update(zip(case.outputs, case.expected, strict=True))
    path = os.path.join(folder, case.file)
    save_file({name: t.contiguous().cpu() for name, t in tensors.items()}, path)
    return path


def h3gen_command(options, case, path, schedule):
    spec = os.path.normpath(os.path.join(SPECS, case.operator + ".spec"))
    command = [options.h3gen, "run", spec, "--in", path, "--backend", "cuda", "--bind"]
    command += [f"{name}={value}" for name, value in case.bind.items()]
    if schedule:
        command += ["--schedule", schedule]
    if options.ptxas:
        command += ["--ptxas", options.ptxas]
    if options.pdl:
        command += ["--pdl"]
    return command


def run_ours(options, case, path, schedule="", compare=False):
    """The times that h3gen wrote, or {"error": ...}."""
    microseconds = 1 + case.moved / 4e6  # about: 4 TB/s
    repetitions = round(SAMPLE_MS * 1000 / microseconds)
    with tempfile.TemporaryDirectory() as folder:
        times = os.path.join(folder, "times.json")
        command = h3gen_command(options, case, path, schedule)
        command += ["--time", str(repetitions), "--time-json", times]
        if compare:
            command += ["--expect", *(f"{name}={name}" for name in case.outputs)]
        try:
            run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return {"error": "no end after 60 s"}
        if run.returncode != 0 or not os.path.exists(times):
            text = (run.stdout + run.stderr).strip()
            return {"error": f"exit {run.returncode}: {text}"[:1000], "exit": run.returncode}
        with open(times) as file:
            result = json.load(file)
    if compare:
        result["different"] = 0  # else h3gen exits with 1
    return result


def read_schedules(path):
    """Lines `operator<TAB>schedule`; also `operator [shape]<TAB>schedule`."""
    lines = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if "\t" not in line:
                sys.exit(f"{path}:{number}: expected operator<TAB>schedule, found '{line}'")
            lines.append(tuple(part.strip() for part in line.split("\t", 1)))
    return lines


# ---- The run


class Clock:
    def __init__(self, budget):
        self.end = time.monotonic() + budget

    def is_over(self):
        return time.monotonic() >= self.end


def summary(samples):
    return {
        "us": statistics.median(samples),
        "least": min(samples),
        "most": max(samples),
        "samples": samples,
    }


def time_case(options, case, schedules, clock):
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        path = write_file(case, folder, with_results=True)
        peers = {} if options.no_peers else prepare_peers(case, options)
        running = {name: peer["replays"] for name, peer in peers.items() if "replays" in peer}
        samples = {name: {"same": [], "rotated": []} for name in [*running, "h3gen"]}
        ours = {}
        for number in range(options.rounds):
            if number and clock.is_over():
                break
            for name, replays in running.items():
                for way, replay in replays.items():
                    samples[name][way].append(replay.sample())
            result = run_ours(options, case, path, compare=not ours)
            if "error" in result:
                ours = result
                break
            ours = {**result, **ours}  # what is compared is in the first
            samples["h3gen"]["same"].append(result["graph_same_us"])
            samples["h3gen"]["rotated"].append(result["graph_rotated_us"])
        tried = []
        for schedule in schedules:
            if clock.is_over():
                tried.append({"schedule": schedule, "error": "not run: the time was over"})
                continue
            tried.append({"schedule": schedule, **run_ours(options, case, path, schedule, True)})
    times = {}
    for name, ways in samples.items():
        entry = {way: summary(values) for way, values in ways.items() if values}
        if "different" in peers.get(name, {}):
            entry["different"] = peers[name]["different"]
        times[name] = entry
    times["h3gen"] |= {key: value for key, value in ours.items() if not key.startswith("graph_")}
    times |= {name: peer for name, peer in peers.items() if "error" in peer}
    tried.sort(key=lambda t: t.get("graph_rotated_us", float("inf")))
    return {
        "operator": case.operator,
        "shape": case.shape,
        "bytes": case.moved,
        "copies": case.copies,
        "elements": sum(t.numel() for t in case.expected),
        "times": times,
        "ratios": ratios(case, times),
        "schedules": tried,
    }


def ratios(case, times):
    rows = []
    for names, most in case.asked:
        row = {"against": names, "at_most": most}
        for way in ("same", "rotated"):
            peers = [times[name][way]["us"] for name in names if way in times.get(name, {})]
            if peers and way in times["h3gen"]:
                row[way] = times["h3gen"][way]["us"] / min(peers)
        rows.append(row)
    return rows


def smi(fields):
    command = ["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader", "--id=0"]
    try:
        run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=20)
        return run.stdout.strip() if run.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired):
        return None


def ran_on():
    facts = {
        "gpu": torch.cuda.get_device_name(),
        "driver": smi("driver_version"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda of torch": torch.version.cuda,
        "triton": triton.__version__,
    }
    # Clocks under load: a second of work in flight while they are asked.
    call, sets = copy_call(64 << 20)
    replay = Replay(call, sets)
    replay.replays = max(1, round(replay.replays * 1000 / SAMPLE_MS))
    for _ in range(replay.replays):
        replay.graph.replay()
    fields = (
        "clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.draw,power.limit,temperature.gpu"
    )
    facts["under load: " + fields] = smi(fields)
    torch.cuda.synchronize()
    return facts


def markdown(report):
    lines = ["# Times beside other kernels", ""]
    lines += [f"* {name}: {value}" for name, value in report["ran_on"].items()]
    lines += [
        "",
        "Microseconds a call by CUDA-graph replay, median of the rounds (least to most), and the",
        'bytes that the operator must move by that time. "Different": elements unlike eager\'s.',
    ]
    for case in report["cases"]:
        lines += [
            "",
            f"## {case['operator']} {case['shape']}",
            "",
            f"{case['bytes'] / 1e6:.1f} MB; rotated: {case['copies']} sets of buffers.",
            "",
            "| kernel | same buffers | TB/s | rotated buffers | TB/s | different |",
            "|---|---|---|---|---|---|",
        ]
        for name, entry in case["times"].items():
            if "error" in entry:
                first = entry["error"].splitlines()[0].replace("|", "\\|")
                lines.append(f"| {name} | failed: {first} | | | | |")
                continue
            cells = []
            for way in ("same", "rotated"):
                t = entry.get(way)
                cells += (
                    [
                        f"{t['us']:.2f} ({t['least']:.2f} to {t['most']:.2f})",
                        f"{case['bytes'] / t['us'] / 1e6:.2f}",
                    ]
                    if t
                    else ["", ""]
                )
            cells.append(str(entry.get("different", "")))
            lines.append(f"| {name} | {' | '.join(cells)} |")
        for ratio in case["ratios"]:
            found = ", ".join(
                f"{ratio[way]:.3f} ({way} buffers)" for way in ("same", "rotated") if way in ratio
            )
            lines += [
                "",
                f"Of {' or '.join(ratio['against'])}: {found or 'not measured'}.",
                f"Asked: at most {ratio['at_most']:.2f}.",
            ]
        if case["schedules"]:
            lines += ["", "| schedule | same | rotated | registers |", "|---|---|---|---|"]
        for tried in case["schedules"]:
            text = tried["schedule"].replace("|", "\\|")
            if "error" in tried:
                first = tried["error"].splitlines()[0].replace("|", "\\|")
                lines.append(f"| `{text}` | {first} | | |")
            else:
                lines.append(
                    f"| `{text}` | {tried['graph_same_us']:.2f} | {tried['graph_rotated_us']:.2f} "
                    f"| {tried['registers']} |"
                )
    if report["not_run"]:
        lines += ["", "Not run, since the time was over: " + ", ".join(report["not_run"]) + "."]
    return "\n".join(lines) + "\n"


def write_report(report, folder):
    with open(os.path.join(folder, "peers.json"), "w") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    with open(os.path.join(folder, "peers.md"), "w") as file:
        file.write(markdown(report))


# ncu's own sections, so that no name of a counter has to be known here: memory throughput, achieved
# occupancy and what bounds it, issue slots, stall reasons.
NCU = [
    "ncu", "--kernel-name", "regex:^h3_", "--launch-count", "1", "--clock-control", "none",
    "--print-details", "all",
    *(word for name in ("SpeedOfLight", "MemoryWorkloadAnalysis", "LaunchStats", "Occupancy",
                        "SchedulerStats", "WarpStateStats") for word in ("--section", name)),
    "--metrics", "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum",
]  # fmt: skip


def print_ncu(options, case, schedules, folder):
    path = write_file(case, folder, with_results=False)
    for schedule in ["", *schedules]:
        print(f"# {case.title}{': ' + schedule if schedule else ''}")
        print(shlex.join(NCU + h3gen_command(options, case, path, schedule)))


def chosen_cases(options, schedules, device):
    """Cases one after another, each with its schedules; memory for one at a time."""
    for make in CASES:
        case = make(device)
        if options.only in case.title:
            yield case, [text for name, text in schedules if name in case.title]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--h3gen", required=True)
    parser.add_argument("--ptxas", help="passed to h3gen")
    parser.add_argument("--out", metavar="DIR", help="where the report goes")
    parser.add_argument("--rounds", type=int, default=3, help="samples of each figure")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases that have it in the name")
    parser.add_argument("--compile-mode", metavar="MODE",
                        help="of torch.compile, one without CUDA graphs; else layouts are tuned")  # fmt: skip
    parser.add_argument("--skip", action="append", default=[], metavar="TEXT",
                        help="leave out peers that have it in the name")  # fmt: skip
    parser.add_argument("--no-peers", action="store_true", help="time h3gen alone")
    parser.add_argument(
        "--pdl", action="store_true", help="h3gen's kernels start before the one in front has ended"
    )
    parser.add_argument(
        "--schedules", metavar="FILE", help="lines operator<TAB>schedule to time too"
    )
    parser.add_argument("--budget", type=float, default=170, metavar="SECONDS",
                        help="after which no further case, round or schedule begins")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scratch", default="/dev/shm" if os.path.isdir("/dev/shm") else None,
                        metavar="DIR", help="for the tensors' files")  # fmt: skip
    parser.add_argument("--ncu", action="store_true",
                        help="only write the tensors and print commands of ncu")  # fmt: skip
    options = parser.parse_args()
    if not options.out and not options.ncu:
        parser.error("--out DIR is needed for the report")
    options.h3gen = os.path.abspath(options.h3gen)
    clock = Clock(options.budget)
    torch.manual_seed(options.seed)
    schedules = read_schedules(options.schedules) if options.schedules else []
    if options.ncu:
        folder = tempfile.mkdtemp(dir=options.scratch)
        for case, own in chosen_cases(options, schedules, "cpu"):
            print_ncu(options, case, own, folder)
        print(shlex.join(["rm", "-r", folder]))
        return 0
    if not torch.cuda.is_available():
        print("skipped: no GPU")
        return 3
    os.makedirs(options.out, exist_ok=True)
    report = {"ran_on": ran_on(), "seed": options.seed, "rounds": options.rounds, "cases": []}
    report["not_run"] = []
    failed = False
    for case, own in chosen_cases(options, schedules, "cuda"):
        if clock.is_over():
            report["not_run"].append(case.title)
            continue
        started = time.monotonic()
        result = time_case(options, case, own, clock)
        failed |= "error" in result["times"]["h3gen"]
        failed |= any(tried.get("exit") == 1 for tried in result["schedules"])
        report["cases"].append(result)
        write_report(report, options.out)  # what there is, should the rest not come
        print(f"{case.title}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
    write_report(report, options.out)
    print(markdown(report))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
