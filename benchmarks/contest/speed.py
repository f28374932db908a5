"""Tokens per second at equal numbers of topics: both stores and tomotopy, in alternating blocks of sweeps."""

import statistics

import numpy as np
from contest.contestants import STORES, Ours, Tomotopy
from machine import version

import hdpkit as hk

SWEEPS = 5
NEAR = 0.15  # relative difference of K from tomotopy's above which nanoseconds are interpolated


def measure(corpus, dishes, settle, blocks, kernel):
    """Blocks of each program, with the instruction set of this process.

    All hyperparameters are fixed (alpha = gamma = 1, eta = 0.1), and all start with the same number of random
    topics. If hdpkit's final K differs from tomotopy's by more than NEAR, a second chain starts from a K such
    that it should end on the other side of tomotopy's K; both and tomotopy take turns once more, and hdpkit's
    nanoseconds at tomotopy's K are interpolated linearly between the blocks of the two.
    """
    ours = [Ours(corpus, store, kernel, f"Random({dishes})") for store in STORES]
    peers = [Tomotopy(corpus, dishes)] if version("tomotopy") is not None else []
    for one in (*peers, *ours):
        one.sweep(settle)
    found = turns([*peers, *ours], blocks)
    for one, row in zip(ours, found[len(peers) :], strict=True):
        row["kernel"] = one.franchise.kernel("reseat")
        for peer in peers:
            here, there = (statistics.median(each["topics"]) for each in (row, found[0]))
            rows = [found[0], row]
            if abs(here / there - 1) > NEAR:
                second = Ours(
                    corpus, one.store, kernel, f"Random({max(2, round(dishes * (there / here) ** 2))})"
                )
                second.sweep(settle)
                rows = row["again"] = turns([peer, one, second], blocks)
            row["ratio"], row["ratio_of_all"] = (ratio(rows, key) for key in ("nanoseconds", "of_all"))
    return {"instruction_set": hk.instruction_set(), "rows": found}


def turns(contestants, blocks):
    """Take turns: nanoseconds per token and topics of each block, a dict for each program.

    ``nanoseconds`` are those of the sweeps alone; ``of_all`` are wall-clock time, including the scores that
    hdpkit records after every sweep (tomotopy records nothing, so both are the same).
    """
    rows = [{"name": one.name, "nanoseconds": [], "of_all": [], "topics": []} for one in contestants]
    for _ in range(blocks):
        for one, row in zip(contestants, rows, strict=True):
            alone, wall = one.in_moves, one.seconds
            one.sweep(SWEEPS)
            per_token = 1e9 / (SWEEPS * one.n_tokens)
            row["nanoseconds"].append((one.in_moves - alone) * per_token)
            row["of_all"].append((one.seconds - wall) * per_token)
            row["topics"].append(one.n_topics)
    return rows


def ratio(rows, key):
    """Speed relative to tomotopy at its number of topics; rows: tomotopy's, then one or two of hdpkit's."""
    peer, *ours = rows
    mine = statistics.median(ours[0][key])
    topics, times = (np.concatenate([row[name] for row in ours]) for name in ("topics", key))
    if len(ours) > 1 and np.ptp(topics) > 0:
        mine = float(np.polyval(np.polyfit(topics, times, 1), statistics.median(peer["topics"])))
    return statistics.median(peer[key]) / mine


def print_rows(found):
    """A table of the results of each process of `measure`."""
    print(
        "| instruction set | system | kernel | K | ns a token | tokens/s | times tomotopy | with the trace |"
    )
    print("|" + " --- |" * 8)
    for one in found:
        for row in one["rows"]:
            middle = statistics.median(row["nanoseconds"])
            spread = f"{min(row['nanoseconds']):.0f} to {max(row['nanoseconds']):.0f}"
            times = f"{row['ratio']:.2f} | {row['ratio_of_all']:.2f}" if "ratio" in row else " | "
            second = f" (and {statistics.median(row['again'][2]['topics']):.0f})" if "again" in row else ""
            print(
                f"| {one['instruction_set']} | {row['name']} | {row.get('kernel', '')} "
                f"| {statistics.median(row['topics']):.0f}{second} | {middle:.1f} ({spread}) "
                f"| {1e9 / middle:,.0f} | {times} |"
            )
    print()
