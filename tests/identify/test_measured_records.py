"""Measured records: columns by name, unit checks, and errors that state the column and the rows."""

import numpy as np
import pytest

import appell as ap
from appell.identify import LeastSquares, choose_band, process
from appell.motion import Record, measured

ARM = ap.load("planar-2r")
NAMES = ("shoulder", "elbow")


def table(rate=500.0, seconds=6.0):
    t = np.arange(0.0, seconds, 1.0 / rate)
    q = np.column_stack([np.sin(2.0 * t) + 0.4 * np.sin(5.0 * t), np.cos(3.0 * t)])
    v = np.column_stack([2.0 * np.cos(2.0 * t) + 2.0 * np.cos(5.0 * t), -3.0 * np.sin(3.0 * t)])
    a = np.column_stack([-4.0 * np.sin(2.0 * t) - 10.0 * np.sin(5.0 * t), -9.0 * np.cos(3.0 * t)])
    tau = ap.Dynamics(ARM).inverse_dynamics(q, v, a)
    columns = {"t": t}
    for kind, x in (("q", q), ("v", v), ("a", a), ("tau", tau)):
        columns |= {f"{kind}_{name}": x[:, k].copy() for k, name in enumerate(NAMES)}
    return columns


def make_log(columns):
    return measured(Record.of(columns["t"], {key: x for key, x in columns.items() if key != "t"}), NAMES, NAMES)


def read_log(path, **given):
    return measured(Record.read(path, **given), NAMES, NAMES)


def only(columns, *kinds):
    return {key: x for key, x in columns.items() if key == "t" or key.split("_")[0] in kinds}


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_a_log_is_read_from_every_format(tmp_path, suffix):
    columns, path = table(), tmp_path / f"log.{suffix}"
    if suffix == "csv":
        text = (
            ",".join(columns)
            + "\n"
            + "\n".join(",".join(map(repr, map(float, row))) for row in zip(*columns.values(), strict=True))
        )
        path.write_text(text, encoding="utf-8")
    elif suffix == "npz":
        np.savez(path, **columns)
    else:
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path)
    log = read_log(path)
    assert log.names("q") == NAMES
    assert log.about["remarks"] == []
    np.testing.assert_array_equal(log.q[:, 1], columns["q_elbow"])
    np.testing.assert_array_equal(log.a[:, 0], columns["a_shoulder"])


def test_a_written_log_reads_back_and_existing_files_are_not_overwritten(tmp_path):
    log = make_log(only(table(), "q", "tau"))
    for name in ("log.csv", "log.npz", "log.parquet"):
        log.write(tmp_path / name)
        again = read_log(tmp_path / name)
        np.testing.assert_array_equal(again.data, log.data)
        assert "v" not in again
        with pytest.raises(ap.ArgumentError, match="already exists"):
            log.write(tmp_path / name)


def test_arrays_and_other_column_names_and_units_are_read(tmp_path):
    columns = table()
    q = np.column_stack([columns.pop(f"q_{name}") for name in NAMES])
    tau = np.column_stack([columns.pop(f"tau_{name}") for name in NAMES])
    np.savez(tmp_path / "whole.npz", time=columns["t"] * 1e3, q=np.degrees(q), tau=tau * 1e3)
    log = read_log(tmp_path / "whole.npz", units={"t": "ms", "q": "deg", "tau": "mNm"})
    np.testing.assert_allclose(log.q, q)
    np.testing.assert_allclose(log.tau, tau)
    np.testing.assert_allclose(log.t, columns["t"])
    assert [log.unit(title) for title in log.columns] == ["s", "rad", "rad", "N m", "N m"]
    named = {"t": columns["t"], "pos1": q[:, 0], "q_elbow": q[:, 1], "tau_shoulder": tau[:, 0], "M2": tau[:, 1]}
    np.savez(tmp_path / "named.npz", **named)
    log = read_log(tmp_path / "named.npz", columns={"q_shoulder": "pos1", "tau_elbow": "M2"})
    np.testing.assert_array_equal(log.q, q)
    with pytest.raises(ap.DescriptionError, match="no column 'pos3'"):
        read_log(tmp_path / "named.npz", columns={"q_shoulder": "pos3"})
    with pytest.raises(ap.ArgumentError, match="unit 'furlong' of column 'q' is unknown"):
        read_log(tmp_path / "whole.npz", units={"q": "furlong"})


def test_a_missing_column_is_reported_with_the_existing_ones():
    columns = table()
    columns["q_elbw"] = columns.pop("q_elbow")
    with pytest.raises(ap.DescriptionError, match=r"no column 'q_elbow'. Did you mean 'q_elbw'\?"):
        make_log(columns)
    columns = table()
    del columns["v_elbow"]
    with pytest.raises(ap.DescriptionError, match="or none of them"):
        make_log(columns)


def test_degrees_are_detected_with_a_warning_that_names_column_and_evidence():
    columns = table()
    columns["q_elbow"] = np.degrees(columns["q_elbow"])
    with pytest.warns(ap.ModelWarning, match=r"q_elbow is read as deg, because q_elbow changes by 57.3 times the inte"):
        np.testing.assert_allclose(make_log(columns)["q_elbow"], table()["q_elbow"])
    columns = table()
    for name in NAMES:
        columns[f"v_{name}"] = np.degrees(columns[f"v_{name}"])
    with pytest.warns(
        ap.ModelWarning, match=r"v_shoulder, v_elbow are read as deg/s, because v_shoulder changes by 57.3"
    ):
        np.testing.assert_allclose(make_log(columns)["v_elbow"], table()["v_elbow"])
    columns = table()
    columns["a_elbow"] = -columns["a_elbow"]
    with pytest.raises(ap.DescriptionError, match=r"v_elbow changes by .* with the wrong sign"):
        make_log(columns)


def test_unsorted_rows_of_a_file_are_sorted_and_repeated_times_are_reported(tmp_path):
    columns = table()
    columns["t"][100], columns["t"][101] = columns["t"][101], columns["t"][100]
    with pytest.raises(ap.DescriptionError, match="column t decreases at row 101"):
        make_log(columns)
    np.savez(tmp_path / "unsorted.npz", **columns)
    with pytest.warns(ap.ModelWarning, match=r"unsorted\.npz: t: 1 row out of order, at t = 0.2 s; sorted"):
        log = read_log(tmp_path / "unsorted.npz")
    np.testing.assert_array_equal(log.t, table()["t"])
    assert log.q[100, 0] == columns["q_shoulder"][101]
    columns["t"][101] = columns["t"][100] = columns["t"][99]
    log = make_log(columns)
    assert len(log) == len(columns["t"]) - 2
    assert log.about["remarks"][0].startswith("t: 2 repeated times, at t = 0.198, 0.198 s; the first row of each")


def test_rows_that_are_not_finite_are_removed_and_gaps_are_not_bridged():
    columns = only(table(), "q", "tau")
    columns["tau_elbow"][1000:1050] = np.nan
    log = make_log(columns)
    assert any("tau_elbow: no number in 50 rows (rows 1000-1049)" in remark for remark in log.about["remarks"])
    assert any("1 gap," in remark for remark in log.about["remarks"])
    data = process(log, band=20.0)
    inside = (data.t > columns["t"][1000]) & (data.t < columns["t"][1049])
    assert not inside.any()
    fit = LeastSquares(ARM).fit_record(data)
    np.testing.assert_allclose(fit.base_parameters_, fit.base_.values(), rtol=0.01, atol=0.01)


def test_outliers_cause_a_remark():
    columns = table()
    columns["tau_shoulder"][700] += 500.0
    log = make_log(columns)
    assert any("tau_shoulder: 1 outliers, row 700" in remark for remark in log.about["remarks"])


def test_short_empty_and_corrupted_files_are_reported(tmp_path):
    with pytest.raises(ap.DescriptionError, match="cannot be read"):
        read_log(tmp_path / "none.csv")
    cases = {
        "empty.csv": ("", "is empty"),
        "short.csv": ("t,q_shoulder,q_elbow,tau_shoulder,tau_elbow\n0,0,0,0,0\n", "has 1 rows"),
        "word.csv": ("t,q_shoulder\n0,zero\n", "column 'q_shoulder' contains 'zero'"),
        "ragged.csv": ("t,q_shoulder\n0\n", "row has 1 cells"),
        "log.txt": ("", "cannot be read as a record"),
    }
    for name, (text, message) in cases.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(ap.DescriptionError, match=message):
            read_log(tmp_path / name)
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(ap.AppellError):
        read_log(tmp_path / "broken.npz")


def test_central_differences_and_the_filter_have_zero_phase():
    columns = table()
    data = process(make_log(only(columns, "q", "tau")), band=40.0)
    rows = np.searchsorted(columns["t"], data.t)
    expected = np.column_stack([columns[f"a_{name}"] for name in NAMES])[rows]
    np.testing.assert_allclose(data.a, expected, atol=2e-3 * np.abs(expected).max())


def test_the_band_lies_between_the_motion_and_the_noise():
    columns = only(table(1000.0, 10.0), "q", "tau")
    rng = np.random.default_rng(0)
    for name in NAMES:
        columns[f"q_{name}"] += 1e-4 * rng.normal(size=len(columns["t"]))
    band = choose_band(make_log(columns))
    assert 4.0 < band < 9.0  # the motion ends at 5 rad/s, 0.8 Hz; its spectrum meets the noise of a near 9 Hz


def test_decimation_keeps_every_nth_sample():
    log = make_log(only(table(), "q", "tau"))
    assert len(process(log, band=20.0, decimate=5).t) == -(-len(process(log, band=20.0).t) // 5)


@pytest.mark.parametrize("options", [{"band": 400.0}, {"band": -1.0}, {"band": 20.0, "decimate": 0}, {"band": 0.5}])
def test_invalid_processing_options_are_rejected(options):
    log = make_log(only(table(), "q", "tau"))
    with pytest.raises(ap.ArgumentError):
        process(log, **options)


def test_a_held_torque_is_averaged_between_its_samples():
    t = np.arange(0.0, 4.0, 0.01)
    q = np.column_stack([np.sin(t), np.cos(t)])
    held = np.column_stack([t + 0.005, t + 0.005])  # held from t_k, so that its middle is 5 ms later
    log = Record.of(t, {"q": q, "tau": held}, NAMES)
    data = process(log, band=10.0, hold=True)
    np.testing.assert_allclose(data.tau[:, 0], data.t, atol=1e-12)
