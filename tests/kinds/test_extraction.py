"""Signatures of a run, known ones, and files for other programs."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import DataError, ParameterError
from hdpkit.kinds.catalog import kind_of
from hdpkit.kinds.signatures.extraction import COVER
from hdpkit.kinds.signatures.starts import RankChoice
from hdpkit.signatures import (
    CHANNELS,
    KnownSignatures,
    channels_of,
    choose_rank,
    extract_signatures,
    name_signatures,
    plot_activity,
    plot_cosines,
    plot_decomposition,
    plot_exposures,
    plot_spectra,
    read_signatures,
    read_spectra,
    signature_tables,
    write_signatures,
)
from hdpkit.summaries import diagnose

SBS96 = CHANNELS["SBS96"]
TRUTH = np.random.default_rng(5).dirichlet(np.full(96, 0.08), size=3)


def written(path, matrix, names, order=None):
    """Signatures as COSMIC's files have them."""
    order = SBS96.ordered_for_sigprofiler() if order is None else order
    rows = ["\t".join(["Type", *names])]
    rows += ["\t".join([SBS96.names[i], *(f"{value:.12g}" for value in matrix[:, i])]) for i in order]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def cohort():
    """Two chains over thirty simulated samples, and the exposures that they were made with."""
    rng = np.random.default_rng(0)
    made = np.stack([rng.multinomial(800, shares) for shares in rng.dirichlet(np.full(3, 0.4), size=30)])
    counts = np.stack(
        [sum(rng.multinomial(n, law) for n, law in zip(row, TRUTH, strict=True)) for row in made]
    )
    corpus = hk.Corpus.from_counts(counts, vocabulary=SBS96.names, names=[f"T{i}" for i in range(30)])
    root = hk.Restaurant(hk.DirichletMultinomial(0.2), concentration=hk.Gamma(1.0, 1.0))
    franchise = hk.Franchise(
        hk.Restaurant(root, each="document", concentration=hk.Gamma(1.0, 1.0)), corpus, store="counts",
        root="weights",
    )  # fmt: skip
    schedule = [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]
    trace = hk.Scheduler(schedule).run(
        franchise, 240, rng=1, init=hk.init.Factors(3), samples=hk.Samples(after=120)
    )
    return extract_signatures(trace, corpus), made, trace, corpus


@pytest.mark.quick
def test_signatures_and_exposures_are_found(cohort):
    found, made, _, _ = cohort
    assert found.titles[:2] == ["SBS96A", "SBS96B"]
    matches = KnownSignatures(("x", "y", "z"), SBS96.names, TRUTH).match(found)
    assert set(matches.names) == {"x", "y", "z"}
    assert matches.cosine[:3].min() > 0.99
    best = np.argmax(matches.cosines, axis=0)
    assert np.abs(found.exposures[:, best] - made).max() < 100
    covered = (found.exposures_lower[:, best] <= made) & (made <= found.exposures_upper[:, best])
    assert covered.mean() > 0.7  # 30 samples of one short chain
    assert found.present[made[:, 0] > 200][:, best[0]].all()
    tables = signature_tables(found)
    assert tables["samples"]["cosine"].min() > 0.97
    assert set(tables["exposure_intervals"]["interval"]) == {f"90% of the posterior; {COVER}"}
    np.testing.assert_allclose(found.rows.sum(axis=1), 1.0)
    assert ((found.rows_lower <= found.rows) & (found.rows <= found.rows_upper)).mean() > 0.9


def test_signatures_of_few_samples_or_like_others_have_a_remark():
    rng = np.random.default_rng(3)
    laws = np.vstack([TRUTH[:2], 0.8 * TRUTH[0] + 0.2 * TRUTH[2]])
    made = rng.multinomial(800, [0.5, 0.5, 0.0], size=40)
    made[:2, 2] = 20_000
    counts = sum(rng.multinomial(made[:, k], law) for k, law in enumerate(laws))
    corpus = hk.Corpus.from_counts(counts, vocabulary=SBS96.names)
    franchise = hk.Franchise(sample_above(), corpus, store="counts", root="weights")
    trace = hk.Scheduler([moves.CountGibbs(), moves.TableCounts(), moves.RootWeights()]).run(
        franchise, 60, rng=1, init=hk.init.Factors(topics=laws), samples=5, chains=2
    )
    found = extract_signatures(trace, corpus, similarity=0.99)
    best = np.argmax(KnownSignatures(("x", "y", "z"), SBS96.names, laws).match(found).cosines, axis=0)
    table = signature_tables(found)["overview"]
    remarks = [table["remark"][k] for k in best]
    assert "80 % of its mutations are in 2 samples" in remarks[2]
    assert f"nearly the same as {found.titles[best[0]]} (cosine 0.9" in remarks[2]
    assert "nearly the same" in remarks[0]
    assert remarks[1] == ""
    judged = diagnose(trace, words=kind_of(corpus).nouns)
    assert "components" in judged.number.sentence  # signatures are those of the table
    assert "signatures" not in judged.number.sentence
    verdict = judged.readable
    assert verdict.light != "green"
    assert "some of them have 80 % of their mutations in 5 % of the samples" in verdict.sentence


def test_exposures_of_samples_of_which_a_part_was_drawn(cohort):
    """Shares, whose intervals come from the mutations that were drawn, times the totals before."""
    found, _, trace, corpus = cohort
    totals = np.where(np.arange(30) == 3, 5000, 800)
    one = extract_signatures(trace, corpus, totals=totals)
    for name in ("exposures", "exposures_lower", "exposures_upper"):
        before, after = getattr(found, name), getattr(one, name)
        np.testing.assert_array_equal(np.delete(after, 3, axis=0), np.delete(before, 3, axis=0))
        np.testing.assert_allclose(after[3], 5000 / 800 * before[3])
    table = signature_tables(one)["samples"]
    assert table["mutations"][3] == 5000
    assert table["sampled"][3] == 800
    for wrong in (np.full(30, 799), np.full(29, 800), np.full(30, 800.5)):
        with pytest.raises(ParameterError, match="totals"):
            extract_signatures(trace, corpus, totals=wrong)


def test_tables_have_the_names_of_signatures_and_classifications_are_known(cohort):
    found = cohort[0]
    frame = found.to_pandas("shares")
    assert frame["topic"].tolist() == found.titles
    assert set(found.to_pandas("weights")["topic"]) == {*found.titles, "rest"}
    assert set(found.to_pandas("trace")["topic"]) == set(found.titles)
    assert found.to_pandas("topics", n_terms=2)["topic"].tolist() == [
        one for one in found.titles for _ in "ab"
    ]
    with pytest.raises(ParameterError, match=r"SBS97.*SBS96"):
        CHANNELS["SBS97"]
    assert CHANNELS.get("SBS97") is None


def test_names_stay_with_their_signatures(cohort):
    """Names of known signatures, also of those that are chosen, or merged with smaller ones."""
    found = cohort[0]
    known = KnownSignatures(("x", "y", "z"), SBS96.names, TRUTH)
    named = name_signatures(found, known)
    assert set(named.titles[:3]) == {"x", "y", "z"}
    assert named.titles[:3] == list(known.match(found).names[:3])
    assert named.component_set("one").names == tuple(named.titles)
    assert named.selected([2, 0]).titles == [named.titles[0], named.titles[2]]
    merged = named.merged([0, 1, 0, *[-1] * (len(found) - 3)])
    assert merged.titles == named.titles[:2]
    assert found.titles[:2] == ["SBS96A", "SBS96B"]
    with pytest.raises(ParameterError, match="least"):
        name_signatures(found, known, least=1.5)


def test_stability_is_the_cosine_of_states_with_their_mean(cohort):
    found = cohort[0]
    stable = signature_tables(found)["overview"]["stability"]
    members = [
        sample.topics()[list(sample.ids).index(ids[0])]
        for sample, ids in zip(found.samples, found.ids_by_sample, strict=True)
        if ids[0] >= 0
    ]
    mean = np.mean(members, axis=0)
    cosines = [row @ mean / np.linalg.norm(row) / np.linalg.norm(mean) for row in members]
    assert stable[0] == pytest.approx(np.mean(cosines), abs=1e-6)


def sample_above(eta=0.2):
    root = hk.Restaurant(hk.DirichletMultinomial(eta), concentration=hk.Gamma(1.0, 1.0))
    return hk.Restaurant(root, each="document", concentration=hk.Gamma(1.0, 1.0))


def similarities(topics):
    return KnownSignatures(("x", "y", "z"), SBS96.names, TRUTH).match(topics).cosines


def test_the_number_of_signatures_is_found_by_held_out_mutations(cohort):
    corpus = cohort[3]
    choice = choose_rank(sample_above(), corpus, most=8, rng=0)
    assert choice.rank == 3
    assert similarities(choice.topics).max(axis=0).min() > 0.99
    np.testing.assert_allclose(choice.topics.sum(axis=1), 1.0)
    assert choice.init == hk.init.Factors(topics=choice.topics)
    table = choice.table()
    assert table["rank"].tolist() == list(range(1, 9))
    assert table["chosen"].tolist() == [rank == 3 for rank in range(1, 9)]
    best = int(np.argmax(table["score"]))
    assert table["score"][best] == table["error"][best] == 0.0
    assert (table["score"][:2] < -table["error"][:2]).all()
    assert table["stability"][2] > 0.99
    assert str(choice).startswith("3 signatures: of 1 to 8 tried, ")
    again = choose_rank(sample_above(), corpus, most=8, rng=0)
    assert np.array_equal(again.topics, choice.topics)
    back = RankChoice.from_data(json.loads(json.dumps(choice.as_data())))
    assert str(back) == str(choice)
    assert np.array_equal(back.topics, choice.topics)
    assert np.isnan(choose_rank(sample_above(), corpus, most=2, paths=1, rng=0).stability).all()


def test_few_samples_and_few_mutations():
    rng = np.random.default_rng(3)
    one = hk.Corpus.from_counts(rng.multinomial(50, TRUTH[0])[None])
    assert choose_rank(sample_above(), one, rng=0).rank == 1
    counts = rng.multinomial(3, TRUTH[0], size=4)
    counts[1] = 0
    assert choose_rank(sample_above(), hk.Corpus.from_counts(counts), rng=0).rank in (1, 2, 3)
    one_mutation = hk.Corpus.from_counts(np.eye(1, 96, dtype=int))
    assert choose_rank(sample_above(), one_mutation, held_out=0.999, rng=0).rank == 1


def test_samples_that_vary_more_than_the_model_assumes_get_less_weight():
    """Counts by shares that differ from sample to sample: 1 / b is found, and no signatures are added."""
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(3, 0.4), size=60)
    plain, varied = [], []
    for row in shares:
        law = row @ TRUTH
        plain.append(rng.multinomial(5000, law))
        varied.append(rng.multinomial(5000, rng.dirichlet(1000.0 * law + 1e-9)))
    few = choose_rank(sample_above(), hk.Corpus.from_counts(np.array(plain)), most=8, rng=0)
    more = choose_rank(sample_above(), hk.Corpus.from_counts(np.array(varied)), most=8, rng=0)
    assert few.rank == more.rank == 3
    assert few.overdispersion < 1e-4
    assert 0.5e-3 < more.overdispersion < 1.5e-3


def test_known_signatures_are_read_and_matched(tmp_path, cohort):
    found = cohort[0]
    path = written(tmp_path / "COSMIC_v3.4_SBS_GRCh37.txt", TRUTH, ["SBS1", "SBS2", "SBS3"])
    known = read_signatures(path, channels="SBS96")
    np.testing.assert_allclose(known.matrix, TRUTH, rtol=1e-9)
    assert known.channels is SBS96
    assert len(signature_tables(found, known)["overview"]["best_match"]) == len(found)
    mixed = 0.7 * TRUTH[0] + 0.3 * TRUTH[2]
    parts = known.decompose([mixed])
    assert [name for name, _ in parts.parts(0)] == ["SBS1", "SBS3"]
    np.testing.assert_allclose(parts.shares[0], [0.7, 0.0, 0.3], atol=1e-9)
    np.testing.assert_allclose(parts.cosine, 1.0)
    # What is below the least share is left out, and the others fitted again.
    faint = known.decompose([0.97 * TRUTH[0] + 0.03 * TRUTH[1]], least=0.05)
    assert faint.shares[0].tolist() == [1.0, 0.0, 0.0]
    assert 0.9 < faint.cosine[0] < 1.0
    assert known.chosen(["SBS3"]).names == ("SBS3",)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda m: m * 2.0, "sum to one"),
        (lambda m: np.where(np.arange(96) == 3, -0.001, m), "share of 0 or more"),
    ],
)
def test_known_signatures_that_are_none(change, told, tmp_path):
    with pytest.raises(DataError, match=told):
        read_signatures(written(tmp_path / "k.txt", change(TRUTH), ["a", "b", "c"]))


def test_known_signatures_of_other_channels(tmp_path, cohort):
    path = written(tmp_path / "k.txt", TRUTH, ["a", "b", "c"])
    with pytest.raises(DataError, match="DBS78"):
        read_signatures(path, channels="DBS78", signatures="columns")
    with pytest.raises(DataError, match="without"):
        read_signatures(written(tmp_path / "k.txt", TRUTH, ["a", "b", "c"], order=range(90)))
    other = KnownSignatures(("a",), CHANNELS["DBS78"].names, np.full((1, 78), 1 / 78))
    with pytest.raises(DataError, match="96 channels of the counts"):
        other.match(cohort[0])
    with pytest.raises(DataError, match="shape"):
        other.decompose(TRUTH)
    with pytest.raises(ParameterError):
        other.chosen(["b"])
    with pytest.raises(ParameterError):
        other.decompose(np.full((1, 78), 1 / 78), least=1.0)


def rows_of(path, delimiter="\t"):
    with open(path, newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def test_files_for_other_programs(tmp_path, cohort):
    found = cohort[0]
    known = KnownSignatures(("x", "y", "z"), SBS96.names, TRUTH)
    files = write_signatures(found, tmp_path / "out", known=known)
    assert len(files) == 6
    assert [row[0] for row in rows_of(files[0])[:6]] == [
        "MutationType", "A[C>A]A", "A[C>A]C", "A[C>A]G", "A[C>A]T", "A[C>G]A",
    ]  # fmt: skip
    again = read_signatures(files[0])
    np.testing.assert_allclose(again.matrix, found.rows, rtol=1e-7)
    assert list(again.names) == found.titles
    activities = rows_of(files[1])
    assert activities[0] == ["Samples", *found.titles]
    assert [int(n) for n in activities[1][1:]] == np.rint(found.exposures[0, :-1]).astype(int).tolist()
    assert len(rows_of(tmp_path / "out" / "exposure_intervals.csv", ",")) == 1 + 30 * (len(found) + 1)
    assert rows_of(tmp_path / "out" / "exposure_intervals.csv", ",")[len(found) + 1][1] == "0"
    with pytest.raises(ParameterError, match="empty folder"):
        write_signatures(found, tmp_path / "out")


FLAT = KnownSignatures(("a",), SBS96.names, np.full((1, 96), 1 / 96), SBS96)
DOUBLETS = KnownSignatures(("a",), CHANNELS["DBS78"].names, np.full((1, 78), 1 / 78))


REFUSED = [
    *((lambda c, bad=bad: extract_signatures(c.trace, c.corpus, **bad), next(iter(bad)))
      for bad in ({"similarity": 1.0}, {"chains": -1}, {"level": 1}, {"names": ["a"] * 99})),
    (lambda c: extract_signatures(c.trace), "corpus"),
    (lambda c: extract_signatures(c.trace, hk.Corpus.from_counts(np.ones((2, 96), int))), "30 samples"),
    *((lambda c, bad=bad: choose_rank(sample_above(), c.corpus, **bad), next(iter(bad)))
      for bad in ({"paths": 0}, {"most": 0}, {"held_out": 1.0}, {"progress": 3})),
    (lambda c: plot_spectra(None, "SBS96"), "signatures"),
    (lambda c: plot_spectra(np.full((1, 96), np.nan), "SBS96"), "signatures"),
    (lambda c: plot_spectra(np.ones((1, 96))), "channels"),
    (lambda c: plot_spectra(np.ones((1, 96)), "SBS97"), "channels"),
    (lambda c: plot_spectra(np.ones((1, 5)), "SBS96"), "channels"),
    (lambda c: plot_spectra(c.found, most=0), "most"),
    (lambda c: plot_spectra(c.found, names=["a"] * 50), "names"),
    (lambda c: plot_exposures(None), "signatures"),
    (lambda c: plot_exposures(c.found, by="type"), "by"),
    (lambda c: plot_cosines(c.found, 5), "known"),
    (lambda c: plot_cosines(c.found, DOUBLETS), "channels"),
    (lambda c: plot_activity(c.found, len(c.found)), "signature"),
    (lambda c: plot_activity(c.found, "SBS99"), "signature"),
    (lambda c: plot_activity(c.found, 0, "stage"), "level"),
    (lambda c: plot_decomposition(c.found, 99, FLAT), "signature"),
    (lambda c: plot_decomposition(c.found, 0, 5), "known"),
    (lambda c: plot_decomposition(c.found, 0, DOUBLETS), "channels"),
    (lambda c: channels_of([1, 2]), "names"),
    (lambda c: channels_of(list(SBS96.names), known=["none"]), "known"),
    (lambda c: FLAT.chosen(["b"]), "names"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "told"), REFUSED)
def test_what_the_functions_of_signatures_refuse(call, told, cohort):
    found, _, trace, corpus = cohort
    with pytest.raises((DataError, ParameterError)) as caught:
        call(SimpleNamespace(found=found, trace=trace, corpus=corpus))
    assert told in f"{caught.value.parameter} {caught.value}"


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("", {}, "no rows"),
        ("a\tb\tc\td\n1\t2\n", {}, "a row of 4 fields"),
        (None, {"channels": "SBS97"}, "channels"),
        (None, {"samples": "left"}, "samples"),
        (None, {"limits": hk.Limits(max_terms=10)}, "max"),
        (None, {"channels": "DBS78", "samples": "columns"}, "of DBS78"),
        ("".join(f"{name}\t1\n" for name in SBS96.names), {}, "a header"),
    ],
)
def test_tables_of_counts_that_are_none(text, options, told, tmp_path):
    whole = "Type\ta\n" + "".join(f"{name}\t1\n" for name in SBS96.names)
    (tmp_path / "m.tsv").write_text(whole if text is None else text)
    with pytest.raises((DataError, ParameterError), match=told):
        read_spectra(tmp_path / "m.tsv", **options)


def test_the_number_of_signatures_beside_known_ones(cohort):
    known = hk.Known(TRUTH[:2], counts=500, frozen=[True, False])
    choice = choose_rank(sample_above(), cohort[3], known=known, most=4, rng=0)
    assert choice.rank == 1
    assert similarities(choice.topics)[0, 2] > 0.99
    every = choose_rank(sample_above(), cohort[3], known=hk.Known(TRUTH, frozen=True), most=3, rng=0)
    assert RankChoice.from_data(every.as_data()).rank == every.rank == 0
