"""Kills servers and workers, and cuts their databases off, at every point of a scenario's life; then looks at what came of it.

    scripts/crash-matrix            8 cases, each target on each database: what CI runs
    scripts/crash-matrix --more     24 cases, each point twice
    scripts/crash-matrix --all      every point, target and database
    scripts/crash-matrix --case postgres/worker/acts

Each case is a server and a worker of their own on a data directory of their own. An experiment is submitted; when the worker
tells of the point, the target is killed with SIGKILL (or cut off) and started again. The experiment must end with the verdicts
of an undisturbed one, no scenario missing or judged twice, and after one sweep nothing of ours is left. The matrix is printed
as Markdown, and then `N passed, N failed`.
"""

import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from processes import Case, Failed

# What a worker tells, and what the point is called.
POINTS = {
    "queued": None,
    "claimed": ": started",
    "prepares": ": prepare …",
    "sandbox": "is there",
    "prepared": ": prepare took",
    "acts": ": the agent acts",
    "acted": ": the agent ended",
    "probes": ": probe …",
    "probed": ": probe took",
    "destroys": ": destroy …",
    "destroyed": "is gone",
    "first kept": ": pass",
}
TARGETS = ["server", "worker", "both", "database"]
DATABASES = ["sqlite", "postgres"]
REPLICAS = 3

SPEC = f"""\
version: 1
id: crash
base: touchstone/busybox:1
task: {{ prompt: x }}
agent: {{ type: cli, command: "sleep 0.3; touch out" }}
resources: {{ memory: 64Mi, disk: 16Mi }}
parallelism: {{ replicas: {REPLICAS} }}
invariants: {{ there: {{ description: x, check: {{ type: file_exists, path: out }} }} }}
"""


def verdicts(body):
    """What came of each scenario, whatever process it ran in."""
    rows = body["scenarios"]
    seen = {row["scenario_id"]: json.dumps([row[key] for key in ("status", "seed", "parameters", "composite_score", "invariants")]) for row in rows}
    if len(seen) != len(rows):
        raise Failed("a scenario is there twice")
    return seen


def judged_once(case, experiment):
    """Each scenario has one attempt whose verdict was kept, and one row."""
    body = case.ask("GET", f"/v1/scenarios?experiment_id={experiment}&limit=100")
    ids = [row["scenario_id"] for row in body["items"]]
    if sorted(ids) != sorted(set(ids)) or len(ids) != REPLICAS:
        raise Failed(f"scenarios: {ids}")


def undisturbed(database):
    case = Case(database)
    try:
        return verdicts(case.results(case.submit(SPEC)))
    finally:
        case.end()


def run(database, target, point, expected):
    started = time.monotonic()
    problems = []
    try:
        case = Case(database)
    except Failed as problem:
        return [str(problem)], time.monotonic() - started
    try:
        experiment = case.submit(SPEC)
        if POINTS[point]:
            case.worker.wait_for(POINTS[point])
        case.strike(target)
        body = case.results(experiment)
        if verdicts(body) != expected:
            problems.append(f"other verdicts: {verdicts(body)} instead of {expected}")
        judged_once(case, experiment)
    except Failed as problem:
        problems.append(str(problem))
    finally:
        problems += case.end()
    return problems, time.monotonic() - started


def cases(arguments):
    if arguments.case:
        return [tuple(case.split("/")) for case in arguments.case]
    everything = [(database, target, point) for point in POINTS for target in TARGETS for database in DATABASES]
    if arguments.all:
        return everything
    if not arguments.more:
        points = list(POINTS)
        pairs = [(database, target) for target in TARGETS for database in DATABASES]
        return [(*pair, points[(number * 5 + 1) % len(points)]) for number, pair in enumerate(pairs)]
    chosen = []
    for number, point in enumerate(POINTS):
        for step in (0, 2):
            chosen.append((DATABASES[(number + step // 2) % 2], TARGETS[(number // 2 + step + number) % 4], point))
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every point, target and database")
    parser.add_argument("--more", action="store_true", help="24 cases: each point twice, databases alternating")
    parser.add_argument("--case", action="append", metavar="DATABASE/TARGET/POINT", help="only this case")
    parser.add_argument("--at-once", type=int, default=2, help="how many cases run at once")
    arguments = parser.parse_args()
    wanted = cases(arguments)
    expected = {database: undisturbed(database) for database in {case[0] for case in wanted}}
    for database, seen in expected.items():
        if len(seen) != REPLICAS or not all('"pass"' in verdict for verdict in seen.values()):
            sys.exit(f"crash-matrix: an undisturbed run on {database} did not pass: {seen}")
    outcomes = {}
    with ThreadPoolExecutor(arguments.at_once) as pool:
        futures = {case: pool.submit(run, *case, expected[case[0]]) for case in wanted}
        for case, future in futures.items():
            problems, seconds = future.result()
            outcomes[case] = problems
            print(f"{'ok  ' if not problems else 'FAIL'} {'/'.join(case)} ({seconds:.1f} s)", file=sys.stderr)
            for problem in problems:
                print(f"  {problem}", file=sys.stderr)
    columns = [(database, target) for database in DATABASES for target in TARGETS]
    print("| killed or cut when |" + "".join(f" {target} ({database}) |" for database, target in columns))
    print("|---|" + "---|" * len(columns))
    for point in POINTS:
        cells = [outcomes.get((database, target, point)) for database, target in columns]
        words = ["" if cell is None else ("same verdicts" if not cell else "FAILED") for cell in cells]
        print(f"| {point} |" + "".join(f" {word} |" for word in words))
    failed = sum(bool(problems) for problems in outcomes.values())
    print(f"\n{len(outcomes) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
