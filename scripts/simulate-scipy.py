"""Computes the reference values of scenario/tests/it/data/scipy.json with scipy. Without --write it compares them with the file.

Run by `scripts/simulate --scipy [--write]`.
"""

import json
import random
import sys

import scipy
from scipy.stats import binomtest, boschloo_exact, fisher_exact, mannwhitneyu

FILE = "scenario/tests/it/data/scipy.json"
SIZES = [(1, 1), (3, 3), (5, 5), (5, 3), (10, 10), (20, 10), (30, 30), (60, 60)]


def tables():
    """Drops of many sizes: (passed, judged) before and now."""
    for before, now in SIZES:
        steps = {0, 1, 2, 3, before // 4, before // 2}
        for failed in sorted(step for step in steps if step <= before):
            for passed in sorted({0, 1, now // 4, now // 2, now - now // 4, now - 1, now} & set(range(now + 1))):
                yield before - failed, before, passed, now


def drops():
    for passed_before, before, passed, now in tables():
        if passed * before >= passed_before * now:
            continue
        # Rows are runs and columns passed and failed, so that "greater" means that more passed before.
        table = [[passed_before, before - passed_before], [passed, now - passed]]
        # scipy wants samples in columns for Boschloo's test.
        columns = [list(column) for column in zip(*table)]
        yield {
            "table": [passed_before, before, passed, now],
            "fisher": fisher_exact(table, alternative="greater").pvalue,
            "boschloo": boschloo_exact(columns, alternative="greater", n=64).pvalue,
        }


def samples():
    dice = random.Random(24)
    for size, digits in [((3, 4), 6), ((6, 6), 6), ((10, 15), 6), ((12, 9), 0), ((40, 30), 6), ((50, 50), 0)]:
        before = [round(dice.gauss(10, 3), digits) for _ in range(size[0])]
        now = [round(dice.gauss(11.5, 3), digits) for _ in range(size[1])]
        ties = len(set(before + now)) < len(before + now)
        method = "exact" if not ties and len(before) * len(now) <= 400 else "asymptotic"
        p_value = lambda side: mannwhitneyu(now, before, alternative=side, method=method).pvalue
        yield {"before": before, "now": now, "rise": p_value("greater"), "drop": p_value("less")}


def shares():
    for judged in (1, 3, 10, 30, 100):
        for passed in sorted({0, 1, judged // 2, judged - 1, judged}):
            for confidence in (0.9, 0.95, 0.99):
                interval = binomtest(passed, judged).proportion_ci(confidence, method="exact")
                yield {"passed": passed, "judged": judged, "confidence": confidence, "low": interval.low, "high": interval.high}


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def main():
    values = {
        "made_by": f"scripts/simulate --scipy --write, with scipy {scipy.__version__}",
        "drops": list(drops()),
        "mann_whitney": list(samples()),
        "clopper_pearson": list(shares()),
    }
    lines = [f'  "made_by": {json.dumps(values.pop("made_by"))}']
    for name, rows in values.items():
        rows = ",\n    ".join(json.dumps(rounded(row)) for row in rows)
        lines.append(f'  "{name}": [\n    {rows}\n  ]')
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if "--write" in sys.argv:
        open(FILE, "w").write(text)
    elif open(FILE).read() != text:
        sys.exit(f"{FILE} has other values: scripts/simulate --scipy --write writes them again")


main()
