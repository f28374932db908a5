"""Tokens a second at the same number of topics: both stores and tomotopy, in alternating blocks of sweeps."""

import statistics

import numpy as np
from contest.contestants import STORES, Ours, Tomotopy
from machine import instruction_set, version

SETTLE, SWEEPS = 30, 5
NEAR = 0.15  # how far our K may be from tomotopy's before nanoseconds are read off a line


def measure(corpus, dishes, blocks, kernel):
    """Blocks of each contestant, under the instruction set that this process was begun with.

    Everything is fixed (alpha = gamma = 1, eta = 0.1), and starts from the same number of random topics.
    Where our K ends further than NEAR from tomotopy's, the store runs once more from as many more (or fewer)
    topics, and its nanoseconds at tomotopy's K are read off the line through all its blocks.
    """
    peer = Tomotopy(corpus, dishes) if version("tomotopy") is not None else None
    ours = {store: Ours(corpus, store, kernel, f"Random({dishes})") for store in STORES}
    rows = alternate([*([peer] if peer else []), *ours.values()], blocks)
    for store, one in ours.items():
        row = rows[one.name]
        row["kernel"] = one.franchise.kernel("reseat")
        if peer is None:
            continue
        k = statistics.median(rows[peer.name]["topics"])
        other = [0, 0]
        if abs(statistics.median(row["topics"]) / k - 1) > NEAR:
            again = max(2, round(dishes * k / statistics.median(row["topics"])))
            second = Ours(corpus, store, kernel, f"Random({again})")
            other = alternate([peer, second], blocks)[second.name]
            row["second"] = {"start": again, **other}
        row["ratio"] = ratio(rows[peer.name], row, "nanoseconds")
        row["ratio_of_all"] = ratio(rows[peer.name], row, "of_all")
    return {"instruction_set": instruction_set(), "rows": rows}


def alternate(contestants, blocks):
    """Settle all, then take turns: nanoseconds a token and topics of each block, by contestant's name.

    ``nanoseconds`` are those of the sweeps alone; ``of_all`` are by the clock on the wall, with the scores
    that a run of ours records after every sweep (tomotopy records nothing: both are the same).
    """
    rows = {one.name: {"nanoseconds": [], "of_all": [], "topics": []} for one in contestants}
    for one in contestants:
        one.sweep(SETTLE)
    for _ in range(blocks):
        for one in contestants:
            alone, wall = getattr(one, "in_moves", None), one.seconds
            one.sweep(SWEEPS)
            per_token = 1e9 / (SWEEPS * one.n_tokens)
            row = rows[one.name]
            row["of_all"].append((one.seconds - wall) * per_token)
            taken = row["of_all"][-1] if alone is None else (one.in_moves - alone) * per_token
            row["nanoseconds"].append(taken)
            row["topics"].append(one.n_topics)
    return rows


def ratio(peer, row, key):
    """How many times as fast as the peer at its number of topics."""
    k = statistics.median(peer["topics"])
    mine = statistics.median(row[key])
    if "second" in row:
        topics = np.array([*row["topics"], *row["second"]["topics"]], float)
        times = np.array([*row[key], *row["second"][key]])
        if np.ptp(topics) > 0:
            mine = float(np.polyval(np.polyfit(topics, times, 1), k))
    return statistics.median(peer[key]) / mine


def print_rows(found):
    """A table of what each process of `measure` found."""
    print(
        "| instruction set | system | kernel | K | ns a token | tokens/s | times tomotopy | with the trace |"
    )
    print("|" + " --- |" * 8)
    for one in found:
        for name, row in one["rows"].items():
            middle = statistics.median(row["nanoseconds"])
            spread = f"{min(row['nanoseconds']):.0f} to {max(row['nanoseconds']):.0f}"
            times = f"{row['ratio']:.2f} | {row['ratio_of_all']:.2f}" if "ratio" in row else " | "
            second = f" (and {statistics.median(row['second']['topics']):.0f})" if "second" in row else ""
            print(
                f"| {one['instruction_set']} | {name} | {row.get('kernel', '')} "
                f"| {statistics.median(row['topics']):.0f}{second} | {middle:.1f} ({spread}) "
                f"| {1e9 / middle:,.0f} | {times} |"
            )
    print()
