"""MCAP files and ROS 2 bags: read, written, compared with other libraries, cut, and identified."""

import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from functools import cache

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.motion import Record, open_journal
from appell.motion.clock import clock_report, ordered

NS = 1_000_000_000
EPOCH_NS = 1_726_000_000_123_456_789  # a stamp whose seconds are not exact as a float
NAMES = ("shoulder", "elbow")


def bag_of(path, topics, storage="MCAP", compression=None):
    """Write a bag with the library rosbags: messages (log time in ns, message) by topic and type."""
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

    types = typestore()
    writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage])
    if compression:
        writer.set_compression(CompressionMode[compression], CompressionFormat.ZSTD)
    with writer:
        made = {key: writer.add_connection(*key, typestore=types) for key in topics}
        messages = [(time, k, key, each) for key, rows in topics.items() for k, (time, each) in enumerate(rows)]
        for time, _, key, message in sorted(messages, key=lambda each: each[:2]):
            writer.write(made[key], time, types.serialize_cdr(message, key[1]))
    return path


@cache
def typestore():
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_HUMBLE)


def message(kind, ns, frame="", **content):
    types = typestore().types
    stamp = types["builtin_interfaces/msg/Time"](sec=ns // NS, nanosec=ns % NS)
    return types[kind](header=types["std_msgs/msg/Header"](stamp=stamp, frame_id=frame), **content)


def joint_state(ns, names, q, v=(), tau=(), frame=""):
    arrays = dict(zip(("position", "velocity", "effort"), (np.array(x, float) for x in (q, v, tau)), strict=True))
    return message("sensor_msgs/msg/JointState", ns, frame, name=list(names), **arrays)


JOINTS = ("/joint_states", "sensor_msgs/msg/JointState")


def swings(rows=50, period_ns=2_000_000):
    rng = np.random.default_rng(1)
    return EPOCH_NS + period_ns * np.arange(rows), rng.normal(size=(3, rows, 2))


def records():
    rng = np.random.default_rng(0)
    thrown = ap.simulate(ap.load("pendulum"), q0=[0.5], until=0.3)
    blocks = {key: rng.normal(size=(7, 2)) for key in ("q", "v", "tau", "a")} | {"energy": rng.normal(size=7)}
    t = np.array([-0.5, -0.5, 0.0, 1e-9, 1e-9 / 3.0, 0.1, 7.0])
    full = Record.of(np.sort(t), blocks, {**dict.fromkeys("qva", NAMES), "tau": ("motor 1", "motor 2")})
    wrench = {f"wrench_ft/tip_{end}": rng.normal(size=7) for end in ("fx", "fy", "fz", "mx", "my", "mz")}
    stamped = {"start_ns": EPOCH_NS, "frames": {"/ft/tip": "tool0"}, "robot": "arm"}
    return {
        "simulated": thrown,
        "other names": full,
        "missing numbers": Record.of([0.0, 0.1], {"q": [[np.nan, np.inf], [0.0, -0.0]]}, NAMES),
        "stamped": Record.of(np.arange(7) * 1e-3, wrench | {"q": blocks["q"]}, NAMES, about=stamped),
        "only times": Record.of([0.0, 0.5], {}),
        "no rows": Record.of([], {"q": np.zeros((0, 2))}, NAMES),
    }


@pytest.mark.parametrize("ending", [".mcap", ".db3", ""])
def test_a_record_is_read_back_bit_for_bit(tmp_path, ending):
    for name, record in records().items():
        file = tmp_path / f"{name}{ending}"
        record.write(file)
        again = Record.read(file)
        assert again.columns == record.columns, name
        assert again.data.tobytes() == record.data.tobytes(), name
        assert (again.units, again.about) == (dict(record.units), record.about), name
        assert [str(event) for event in again.events] == [str(event) for event in record.events], name
        with pytest.raises(ap.ArgumentError, match="already exists"):
            record.write(file)
        record.write(file, overwrite=True)


def test_other_libraries_read_the_same_bits_and_stamps(tmp_path):
    pytest.importorskip("rosbags")
    pytest.importorskip("mcap_ros2")
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory
    from rosbags.rosbag2 import Reader

    rng, rows = np.random.default_rng(0), 3000  # more than one chunk
    blocks = {key: rng.normal(size=(rows, 2)) for key in ("q", "v", "tau")} | {"energy": rng.normal(size=rows)}
    record = Record.of(np.arange(rows) / 500.0, blocks, NAMES, about={"start_ns": EPOCH_NS})
    for name in ("log.mcap", "log.db3", "folder"):
        record.write(tmp_path / name)
        with Reader(tmp_path / name) as reader:
            assert reader.message_count == 2 * rows + 1
            of_topic = {c.topic: c for c in reader.connections}
            read = [
                (time, typestore().deserialize_cdr(raw, connection.msgtype))
                for connection, time, raw in reader.messages([of_topic["/joint_states"]])
            ]
        stamps = [m.header.stamp.sec * NS + m.header.stamp.nanosec for _, m in read]
        assert stamps == [time for time, _ in read] == [EPOCH_NS + 2_000_000 * k for k in range(rows)]
        assert read[0][1].name == list(NAMES)
        assert np.array([m.effort for _, m in read]).tobytes() == record.tau.tobytes()
    with (tmp_path / "log.mcap").open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        energies = [m.data[0] for _, _, _, m in reader.iter_decoded_messages(topics=["/appell/columns"])]
        assert reader.get_summary().statistics.message_count == 2 * rows + 1
    assert np.array(energies).tobytes() == record.energy.tobytes()


@pytest.mark.parametrize(
    ("storage", "compression"),
    [("MCAP", None), ("MCAP", "STORAGE"), ("SQLITE3", None), ("SQLITE3", "MESSAGE"), ("SQLITE3", "FILE")],
)
def test_a_bag_of_rosbags_gives_its_bits_and_stamps(tmp_path, storage, compression):
    stamps, (q, v, tau) = swings()
    rows = [(ns + 7, joint_state(ns, NAMES, *each)) for ns, *each in zip(stamps.tolist(), q, v, tau, strict=True)]
    record = Record.read(bag_of(tmp_path / "bag", {JOINTS: rows}, storage, compression))
    assert record.columns == ("t", *(f"{key}_{name}" for key in ("q", "v", "tau") for name in NAMES))
    assert record.data[:, 1:].tobytes() == np.hstack([q, v, tau]).tobytes()
    assert record.about["start_ns"] == EPOCH_NS
    np.testing.assert_array_equal(record.about["start_ns"] + np.rint(record.t * NS).astype(int), stamps)
    assert record.clock.sentences() == []


def test_topics_are_merged_at_the_times_of_the_joint_states(tmp_path):
    """An arm and a gripper on one topic, a sensor of forces at another rate, poses, and a desired trajectory."""
    pytest.importorskip("rosbags")
    types = typestore().types
    stamps, (q, _, tau) = swings(40)
    rows = []
    for k, ns in enumerate(stamps.tolist()):
        order = slice(None, None, -1 if k % 3 == 0 else 1)  # the order of names may change
        rows.append((ns, joint_state(ns, NAMES[order], q[k][order], tau=tau[k][order])))
        if k % 2 == 0:
            rows.append((ns, joint_state(ns + 500_000, ["finger"], [0.01 * k])))
    vector, point = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Point"]
    wrenches, poses = [], []
    for ns in range(EPOCH_NS - 10_000_000, EPOCH_NS + 100_000_000, 5_000_000):
        x = (ns - EPOCH_NS) / 1e9
        wrench = types["geometry_msgs/msg/Wrench"](force=vector(x=x, y=2.0, z=0.0), torque=vector(x=0.0, y=0.0, z=-x))
        wrenches.append((ns, message("geometry_msgs/msg/WrenchStamped", ns, "tool0", wrench=wrench)))
        sign = -1.0 if len(poses) % 2 else 1.0
        turn = types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=sign * np.sin(x), w=sign * np.cos(x))
        pose = types["geometry_msgs/msg/Pose"](position=point(x=x, y=0.0, z=1.0), orientation=turn)
        poses.append((ns, message("geometry_msgs/msg/PoseStamped", ns, pose=pose)))
    plans = []
    for start, level in ((EPOCH_NS, 1.0), (EPOCH_NS + 40_000_000, 2.0)):  # the second replaces the rest of the first
        points = [
            types["trajectory_msgs/msg/JointTrajectoryPoint"](
                positions=np.array([level, 0.01 * k]),
                velocities=np.zeros(0),
                accelerations=np.zeros(0),
                effort=np.zeros(0),
                time_from_start=types["builtin_interfaces/msg/Duration"](sec=0, nanosec=10_000_000 * k),
            )
            for k in range(7)
        ]
        made = message("trajectory_msgs/msg/JointTrajectory", start, joint_names=list(NAMES), points=points)
        plans.append((start, made))
    topics = {
        JOINTS: rows,
        ("/ft", "geometry_msgs/msg/WrenchStamped"): wrenches,
        ("/tip", "geometry_msgs/msg/PoseStamped"): poses,
        ("/plan", "trajectory_msgs/msg/JointTrajectory"): plans,
    }
    record = Record.read(bag_of(tmp_path / "bag", topics))
    t = (stamps - EPOCH_NS) / 1e9
    np.testing.assert_array_equal(record.t, t)
    np.testing.assert_array_equal(record.block("q", NAMES), q)
    np.testing.assert_array_equal(record.block("tau", NAMES), tau)
    inside = (t >= 5e-4) & (t <= 0.0765)
    np.testing.assert_allclose(record["q_finger"][inside], 0.01 * ((t[inside] - 5e-4) / 2e-3), atol=1e-12)
    assert np.isnan(record["q_finger"][~inside]).all()
    np.testing.assert_allclose(record["wrench_ft_fx"], t, atol=1e-12)
    np.testing.assert_allclose(record["pose_tip_x"], t, atol=1e-12)
    turned = record["pose_tip_qz"] / record["pose_tip_qw"]
    np.testing.assert_allclose(turned, np.tan(t), atol=1e-5)  # halves of a chord of 5 ms
    assert record.about["frames"] == {"/ft": "tool0"}
    assert record["qd_shoulder"][t < 0.03].max() == 1.0
    assert (record["qd_shoulder"][t >= 0.04] == 2.0).all()
    alone = Record.read(tmp_path / "bag", topics=["/plan"])
    assert alone.columns == ("t", "q_shoulder", "q_elbow")
    assert len(alone) == 4 + 7


def test_a_bag_without_readable_messages_lists_its_topics(tmp_path):
    pytest.importorskip("rosbags")
    text = typestore().types["std_msgs/msg/String"](data="hello")
    bag = bag_of(tmp_path / "bag", {("/chatter", "std_msgs/msg/String"): [(5, text)]})
    with pytest.raises(ap.DescriptionError, match=r"/chatter \(std_msgs/msg/String, 1 messages\)(.|\n)*JointState"):
        Record.read(bag)
    stamps, (q, _, _) = swings(3)
    rows = [(ns, joint_state(ns, NAMES, each)) for ns, each in zip(stamps.tolist(), q, strict=True)]
    two = {JOINTS: rows, ("/arm/joint_states", JOINTS[1]): rows}
    bag = bag_of(tmp_path / "two", two)
    with pytest.raises(
        ap.DescriptionError, match=r"topics /joint_states and /arm/joint_states both contain q_shoulder"
    ):
        Record.read(bag)
    with pytest.raises(ap.DescriptionError, match=r"no topic '/joint_state'(.|\n)*/joint_states"):
        Record.read(bag, topics=["/joint_state"])
    assert len(Record.read(bag, topics=["/arm/joint_states"])) == 3
    with pytest.raises(ap.ArgumentError, match="the clock is 'header stamps'"):
        Record.read(bag, clock="header stamps")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ap.DescriptionError, match="not a ROS 2 bag"):
        Record.read(tmp_path / "empty")
    for name in ("bad.mcap", "bad.db3"):
        (tmp_path / name).write_bytes(b"no bag at all" * 100)
        with pytest.raises(ap.DescriptionError, match=r"bad\."):
            Record.read(tmp_path / name)


def test_log_times_are_a_clock_and_stamps_of_zero_are_not(tmp_path):
    stamps, (q, _, _) = swings(30)
    rows = [(ns, joint_state(0, NAMES, each)) for ns, each in zip(stamps.tolist(), q, strict=True)]
    bag = bag_of(tmp_path / "bag", {JOINTS: rows})
    with pytest.warns(ap.ModelWarning, match="all stamps in the headers are zero; the times at which"):
        record = Record.read(bag)
    np.testing.assert_array_equal(record.t, (stamps - EPOCH_NS) / 1e9)
    np.testing.assert_array_equal(Record.read(bag, clock="log").t, record.t)


def regular(rows=1000, period_ns=1_000_000):
    return EPOCH_NS + period_ns * np.arange(rows)


def moved(size, first=400):
    stamps = regular()
    stamps[first:] += size
    return stamps


CLOCKS = {
    "regular": (regular(), None, []),
    "a late row": (regular()[[*range(100), 101, 100, *range(102, 1000)]], None, ["1 row out of order, at t = 0.1 s"]),
    "a late block": (
        np.r_[regular()[:100], regular()[150:400], regular()[100:150], regular()[400:]],
        None,
        ["50 rows out"],
    ),
    "a repeated row": (np.r_[regular()[:301], regular()[300:]], None, ["1 repeated time, at t = 0.3 s"]),
    "a gap": (np.delete(regular(), range(500, 600)), None, ["1 gap, the longest 0.101 s, after t = 0.499 s"]),
    "set back": (moved(-200_000_000), None, ["1 jump of the clock (-0.2 s), at t = 0.4 s"]),
    "set back before the start": (moved(-2 * NS), None, ["1 jump of the clock (-2 s), at t = 0.4 s"]),
    "set forwards": (moved(3 * NS), regular(), ["1 jump of the clock (3 s), at t = 0.4 s"]),
    "set forwards, or a gap": (moved(3 * NS), None, ["1 gap, the longest 3.001 s, after t = 0.399 s"]),
    "both": (moved(-2 * NS) + (moved(5 * NS, 700) - regular()), regular(), ["2 jumps of the clock (5, -2 s), at t"]),
}


@pytest.mark.parametrize("case", CLOCKS)
def test_irregular_clocks_are_reported_with_their_times(case):
    stamps, arrival, expected = CLOCKS[case]
    result = ordered(stamps, 1e-9, arrival, start=stamps[0])
    report = clock_report((result.stamps - stamps[0]) / 1e9, result.repairs)
    assert [text[3 : 3 + len(start)] for text, start in zip(report.sentences(), expected, strict=True)] == expected
    assert (np.diff(result.stamps) >= 0).all()
    if "jump" in "".join(expected) or "late" in case:
        np.testing.assert_array_equal(result.stamps, regular())
        np.testing.assert_array_equal(np.sort(result.order), np.arange(1000))


def test_jitter_is_reported_and_times_without_order_are_an_error():
    rng = np.random.default_rng(0)
    report = clock_report((np.arange(1000) + rng.uniform(0.0, 0.5, 1000)) * 1e-3)
    assert report.sentences() == [
        f"t: the time between rows varies by {report.jitter:.3g} s about {report.period:.4g} s"
    ]
    with pytest.raises(ap.DescriptionError, match="jump more than 100 times"):
        ordered(rng.permutation(regular()))


# ---- cut files and killed writers


def test_a_cut_file_gives_its_readable_part_with_a_warning(tmp_path):
    rng = np.random.default_rng(0)
    record = Record.of(np.arange(3000) / 500.0, {key: rng.normal(size=(3000, 2)) for key in ("q", "tau")}, NAMES)
    record.write(tmp_path / "log.mcap")
    record.write(tmp_path / "log.db3")
    lengths = []
    for name in ("log.mcap", "log.db3"):
        content = (tmp_path / name).read_bytes()
        for part in (0.1, 0.3, 0.5, 0.77, 0.95):
            (tmp_path / f"cut-{name}").write_bytes(content[: int(part * len(content))])
            with pytest.warns(ap.ModelWarning, match="its readable part is used"):
                again = Record.read(tmp_path / f"cut-{name}")
            assert again.data.tobytes() == record.data[: len(again)].tobytes()
            lengths.append(len(again) / len(record) - part)
    assert min(lengths[:5]) > -0.02  # of an MCAP file only the incomplete message is lost
    assert max(lengths) < 0.2


def test_a_cut_compressed_chunk_gives_its_first_messages_and_a_damaged_one_is_left_out(tmp_path):
    writer = pytest.importorskip("mcap.writer")
    pytest.importorskip("zstandard")
    pytest.importorskip("lz4")
    rows = 4000
    record = Record.of(np.arange(rows) / 500.0, {"q": np.random.default_rng(0).normal(size=(rows, 2))}, NAMES)
    record.write(tmp_path / "plain.mcap")
    from mcap.reader import make_reader

    for compression in (writer.CompressionType.ZSTD, writer.CompressionType.LZ4):
        file = tmp_path / f"{compression.name}.mcap"
        with file.open("wb") as stream, (tmp_path / "plain.mcap").open("rb") as plain:
            out = writer.Writer(stream, compression=compression, chunk_size=100_000)
            out.start("ros2")
            ids = {}
            for schema, channel, each in make_reader(plain).iter_messages():
                if channel.id not in ids:
                    number = out.register_schema(schema.name, schema.encoding, schema.data)
                    ids[channel.id] = out.register_channel(channel.topic, channel.message_encoding, number)
                out.add_message(ids[channel.id], each.log_time, each.data, each.publish_time)
            out.finish()
        assert Record.read(file).data.tobytes() == record.data.tobytes()
        content = file.read_bytes()
        (tmp_path / "cut.mcap").write_bytes(content[: int(0.6 * len(content))])
        with pytest.warns(ap.ModelWarning, match=r"cut\.mcap was not closed by its writer or is cut"):
            again = Record.read(tmp_path / "cut.mcap")
        assert 0.5 * rows < len(again) < 0.7 * rows
        assert again.data.tobytes() == record.data[: len(again)].tobytes()


def test_damage_within_a_chunk_is_reported(tmp_path):
    record = Record.of(np.arange(5000) / 500.0, {"q": np.random.default_rng(0).normal(size=(5000, 2))}, NAMES)
    record.write(tmp_path / "log.mcap")
    content = bytearray((tmp_path / "log.mcap").read_bytes())
    content[len(content) // 2] ^= 255
    (tmp_path / "log.mcap").write_bytes(content)
    with pytest.warns(ap.ModelWarning, match="a chunk of log.mcap with 4.094 s of messages is damaged and is left out"):
        again = Record.read(tmp_path / "log.mcap")
    assert len(again) == 5000 - 2048


def test_the_log_of_a_killed_process_is_readable_up_to_its_last_chunk(tmp_path):
    script = """
import itertools, sys
from appell.motion import open_journal
journal = open_journal(sys.argv[1], ("t", "q_a", "tau_a", "state"), {"robot": "arm", "words": {"state": {"1": "RUN"}}})
for k in itertools.count():
    journal.row[:] = k / 1000.0, k, -k, k >= 100
    journal.commit()
    if k == 700:
        print("ready", flush=True)
"""
    file = tmp_path / "run.mcap"
    process = subprocess.Popen([sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait()
    with pytest.warns(ap.ModelWarning, match="was not closed by its writer"):
        record = Record.read(file)
    assert len(record) >= 640
    assert len(record) % 64 == 0 or len(record) > 64
    np.testing.assert_array_equal(record["q_a"], np.arange(len(record)))
    np.testing.assert_array_equal(record.t, np.arange(len(record)) / 1000.0)
    assert [(event.kind, event.note, event.time) for event in record.events] == [("state", "RUN", 0.1)]
    assert record.about["robot"] == "arm"


def test_a_closed_journal_has_all_rows_and_is_never_overwritten(tmp_path):
    journal = open_journal(tmp_path / "run.mcap", ("t", "q_a"), {})
    for k in range(100):
        journal.row[:] = 1e-3 * (k - 10), k  # negative times are not stamps, and are stored as numbers
        journal.commit()
    journal.close()
    journal.close()
    assert (journal.rows, journal.lost) == (100, 0)
    np.testing.assert_array_equal(Record.read(tmp_path / "run.mcap").t, 1e-3 * (np.arange(100) - 10))
    with pytest.raises(ap.ArgumentError, match="never overwritten"):
        open_journal(tmp_path / "run.mcap", ("t", "q_a"), {})


@contextmanager
def full_disk(size):
    """No file can be longer than `size` bytes, which writing meets as it meets a full disk."""
    resource = pytest.importorskip("resource", reason="needs limits of the size of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_on_a_full_disk_the_loop_continues_and_the_log_ends(tmp_path):
    with full_disk(200), pytest.raises(ap.ArgumentError, match="a journal cannot be written to"):
        open_journal(tmp_path / "run.mcap", ("t", "q_a"), {})
    assert not list(tmp_path.iterdir())
    with full_disk(50_000):
        journal = open_journal(tmp_path / "run.mcap", ("t", "q_a"), {})
        for k in range(2000):
            journal.row[:] = 1e-3 * k, k
            journal.commit()
        journal.close()
    assert journal.rows == 2000
    assert 0 < journal.lost < 2000
    with pytest.warns(ap.ModelWarning, match="not closed by its writer"):
        rows = Record.read(tmp_path / "run.mcap")["q_a"]
    assert len(rows) >= 2000 - journal.lost
    np.testing.assert_array_equal(rows, np.arange(len(rows)))


@pytest.mark.parametrize("ending", [".mcap", ".db3", ""])
def test_a_record_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path, ending):
    record = Record.of(np.arange(5000) * 1e-3, {"q": np.zeros((5000, 2))}, NAMES)
    with full_disk(20_000), pytest.raises(ap.ArgumentError, match="the record cannot be written to"):
        record.write(tmp_path / f"log{ending}")
    assert not list(tmp_path.iterdir())


def test_a_bag_that_is_being_written_gives_its_complete_part(tmp_path):
    (tmp_path / "new.mcap").touch()
    with pytest.raises(ap.DescriptionError, match="the file is empty"):
        Record.read(tmp_path / "new.mcap")
    record = Record.of(np.arange(300) * 1e-2, {"q": np.zeros((300, 2))}, NAMES)
    record.write(tmp_path / "bag")
    (tmp_path / "bag" / "metadata.yaml").unlink()  # a recorder writes it at the end
    assert len(Record.read(tmp_path / "bag")) == 300
    record.write(tmp_path / "log.db3")
    with closing(sqlite3.connect(tmp_path / "log.db3")) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("DELETE FROM messages WHERE id > 400")  # not committed
        assert len(Record.read(tmp_path / "log.db3")) == 300


# ---- commands


def arm_log(period=4e-3):
    """A log of the UR5 of example-robot-data with other inertias, friction and noise."""
    robot = ap.load("example-robot-data:ur5_robot")
    rng, n = np.random.default_rng(0), robot.nq
    a, b = rng.normal(size=(2, 12, n)) * 0.15
    motion = ap.motion.Fourier(0.05, a, b, robot.start).record(period=period)
    rubbing = {name: {"friction": ap.Friction(viscous=1.0)} for name in robot.joint_names}
    real = ap.Dynamics(robot.with_actuators(rubbing), friction=True)
    tau = 1.2 * real.inverse_dynamics(motion.q, motion.v, motion.a)  # all inertias are 20 % larger
    return robot, motion, tau + 0.02 * rng.normal(size=tau.shape)


def test_a_bag_with_gaps_duplicates_and_reversed_stamps_is_identified_in_one_command(tmp_path):
    robot, motion, tau = arm_log()
    stamps = EPOCH_NS + np.rint(motion.t * NS).astype(int)
    names = [f"left_{name}" for name in robot.joint_names]
    rows = [
        (ns + 100_000, joint_state(ns, ["gripper", *names], [0.0, *q], tau=[0.0, *each]))
        for ns, q, each in zip(stamps.tolist(), motion.q, tau, strict=True)
    ]
    late = rows[500]
    rows[500:502] = [(rows[500][0], rows[501][1]), (rows[501][0], late[1])]
    rows = [*rows[:1000], *rows[1100:1500], (rows[1500][0], rows[1499][1]), *rows[1500:]]
    bag_of(tmp_path / "bag", {JOINTS: rows}, "SQLITE3")
    command = ["identify", "example-robot-data:ur5_robot", str(tmp_path / "bag"), "--friction", "--band", "10"]
    result = CliRunner().invoke(app, command)
    text = " ".join(result.output.split())
    assert result.exit_code == 0, result.output  # the verdict is PASS
    for remark in (
        "t: 1 gap, the longest 0.404 s, after t = 3.996 s",
        "t: 1 repeated time, at t = 5.996 s",
        "t: 1 row out of order, at t = 2 s; sorted",
    ):
        assert remark in text


def test_commands_take_bags(tmp_path):
    robot, motion, tau = arm_log(0.05)
    record = Record.of(motion.t, {"q": motion.q, "v": motion.v, "a": motion.a, "tau": tau}, robot.joint_names)
    record.write(tmp_path / "motion.mcap")
    record.write(tmp_path / "motion")
    run = CliRunner().invoke
    name, out = "example-robot-data:ur5_robot", tmp_path / "forces.mcap"
    result = run(app, ["torques", name, str(tmp_path / "motion.mcap"), "--output", str(out)])
    assert result.exit_code == 0, result.output
    expected = ap.Dynamics(robot, friction=True).inverse_dynamics(motion.q[0], motion.v[0], motion.a[0])
    np.testing.assert_allclose(Record.read(out).tau[0], expected, atol=1e-9)
    page = tmp_path / "page.html"
    result = run(app, ["view", str(tmp_path / "motion"), "--robot", name, "--html", str(page)])
    assert result.exit_code == 0, result.output
    assert page.stat().st_size > 10_000
    result = run(app, ["torques", "puma", str(tmp_path / "motion.mcap")])
    assert result.exit_code == 1
    assert "the record moves 6 coordinates: shoulder_pan_joint" in result.output


# ---- stamps and units of tables


def test_stamps_in_two_columns_are_one_time(tmp_path):
    stamps = regular(30, 1_000_003)
    heads = ("header.stamp.sec", "header.stamp.nanosec")
    lines = [f"{ns // NS},{ns % NS},{k}" for k, ns in enumerate(stamps.tolist())]
    (tmp_path / "log.csv").write_text("\n".join([f"{heads[0]},{heads[1]},q_a", *lines]))
    record = Record.read(tmp_path / "log.csv")
    assert record.columns == ("t", "q_a")
    np.testing.assert_array_equal(record.about["start_ns"] + np.rint(record.t * NS).astype(int), stamps)
    (tmp_path / "other.csv").write_text("\n".join(["s,ns,q_a", *lines]))
    again = Record.read(tmp_path / "other.csv", columns={"t": "s+ns"})
    np.testing.assert_array_equal(again.data, record.data)
    with pytest.raises(ap.DescriptionError, match="no column 'nanos'"):
        Record.read(tmp_path / "other.csv", columns={"t": "s+nanos"})
    (tmp_path / "ms.csv").write_text("time_ms,q_a\n1000,1\n1002,2\n")
    np.testing.assert_allclose(Record.read(tmp_path / "ms.csv").t, [0.0, 2e-3])
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = {heads[0]: stamps // NS, heads[1]: stamps % NS, "q_a": np.arange(30.0)}
    parquet.write_table(pyarrow.table(table), tmp_path / "log.parquet")
    np.testing.assert_array_equal(Record.read(tmp_path / "log.parquet").data, record.data)


def table(**changes):
    t = np.arange(0.0, 4.0, 0.01)
    q, v = np.column_stack([np.sin(t), np.cos(2 * t)]), np.column_stack([np.cos(t), -2.0 * np.sin(2 * t)])
    return Record.of(t, {"q": q, "v": v, "tau": 10.0 * q} | changes, NAMES)


def measured(record, **given):
    return ap.motion.measured(record, NAMES, NAMES, **given)


def test_encoder_counts_and_currents_are_converted_with_their_constants():
    plain = table()
    record = table(q=plain.q * 4096 / (2 * np.pi), tau=plain.tau / [0.105, -0.2])
    units = {"q": "4096 counts/rev", "tau_shoulder": "0.105 Nm/A", "tau_elbow": "-0.2Nm/A"}
    si = measured(record, units=units)
    np.testing.assert_allclose(si.q, plain.q, rtol=1e-14)
    np.testing.assert_allclose(si.tau, plain.tau, rtol=1e-14)
    assert si.unit("q_elbow") == "rad"
    assert si.unit("tau_elbow") == "N m"
    for unit in ("0 counts/rev", "counts/rev", "4096 counts", "1..2 Nm/A", "furlong"):
        with pytest.raises(ap.ArgumentError, match=r"unit '.*' of column 'q' is unknown(.|\n)*4096 counts/rev"):
            measured(record, units={"q": unit})
    with pytest.raises(
        ap.DescriptionError, match=r"in encoder counts, about 4096 per revolution(.|\n)*4096 counts/rev"
    ):
        measured(table(q=np.rint(record.q)))


def test_units_in_titles_are_used_with_a_warning():
    plain = table().without(["v_shoulder", "v_elbow"])
    file = Record.of(plain.t, {"pos_deg_1": np.degrees(plain.q[:, 0]), "pos_deg_2": np.degrees(plain.q[:, 1])})
    file = Record.of(plain.t, {title: file[title] for title in file.columns[1:]} | {"torque_mNm": 1e3 * plain.tau})
    with pytest.warns(ap.ModelWarning) as caught:
        si = measured(file)
    assert [str(each.message) for each in caught] == [
        "q_shoulder, q_elbow are read as deg, because the file calls it 'pos_deg_1'.",
        "tau_shoulder, tau_elbow are read as mNm, because the file calls it 'torque_mNm_1'.",
    ]
    np.testing.assert_allclose(si.q, plain.q)
    np.testing.assert_allclose(si.tau, plain.tau)


def test_limits_of_the_robot_show_wrong_units():
    robot = ap.load("example-robot-data:panda")
    robot = ap.load("panda") if robot.nq != 7 else robot
    rng, n = np.random.default_rng(0), 7
    t, names = np.arange(0.0, 2.0, 0.01), robot.coordinate_names
    span = 0.45 * (robot.limits.upper - robot.limits.lower)
    q = 0.5 * (robot.limits.upper + robot.limits.lower) + span * np.sin(t[:, None] * np.arange(1, n + 1))
    tau = 0.5 * robot.limits.torque * np.cos(t[:, None] + rng.normal(size=n))

    def judged(**columns):
        record = Record.of(t, {"q": q, "tau": tau} | columns, names)
        return ap.motion.measured(record, names, robot.actuator_names, system=robot)

    np.testing.assert_array_equal(judged().q, q)
    with pytest.warns(ap.ModelWarning, match=r"are read as deg, because q_.* reaches .*, and its limit is .* rad"):
        np.testing.assert_allclose(judged(q=np.degrees(q)).q, q)
    with pytest.warns(ap.ModelWarning, match=r"are read as mNm, because tau_.* reaches .*, and its limit is .* N m"):
        np.testing.assert_allclose(judged(tau=1e3 * tau).tau, tau)
    with pytest.raises(
        ap.DescriptionError, match=r"All positions are integers, as encoder counts are(.|\n)*counts/rev"
    ):
        judged(q=np.rint(q * 1e5))
    with pytest.raises(ap.DescriptionError, match=r"neither N m nor mNm"):
        judged(tau=1e6 * tau)
    with pytest.raises(ap.DescriptionError, match=r"tau is zero in all samples"):
        judged(tau=0.0 * tau)
