"""Records from and to bags.

    sensor_msgs/JointState             q_*, v_*, tau_*          position, velocity, effort
    trajectory_msgs/JointTrajectory    qd_*, vd_*, ad_*         points; q_*, v_*, a_* if there is no JointState
    geometry_msgs/WrenchStamped        wrench_<topic>_fx ...    force and torque
    geometry_msgs/PoseStamped          pose_<topic>_x ...       position and quaternion x, y, z, w

Messages with different joints on one topic, such as those of an arm and its gripper, are separate series. The series of
joint states with the most rows sets the times; the others are interpolated there. The time t is zero at the first
stamp, which is `about["start_ns"]`. Files that appell wrote (`rows`) are read back as they were.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from appell.errors import ArgumentError, DescriptionError, Hint, ModelWarning, unknown_name
from appell.motion.bags.messages import DEFINITIONS, JOINT_STATE, POSE, TRAJECTORY, Structure, decoded
from appell.motion.bags.rows import JOINT_FIELDS, NS, PARTS, RECORD_TOPIC, own_fields
from appell.motion.bags.storage import BagTopic, MessageGroup, storages
from appell.motion.clock import GAP_RATIO, clock_report, ordered
from appell.motion.titles import parse, titles

POINT_FIELDS = {"q": "positions", "v": "velocities", "a": "accelerations", "tau": "effort"}
READABLE = (JOINT_STATE, TRAJECTORY, *PARTS)
CLOCKS = ("header", "log")


@dataclass
class TopicSeries:
    """Columns of messages of one topic, in the order of the file: times in ns, values (rows, columns)."""

    topic: str
    type: str
    titles: tuple[str, ...]
    stamps: np.ndarray
    arrival: np.ndarray
    values: np.ndarray
    frame: str = ""


def read_bag(path: FilePath, topics: Sequence[str] = (), clock: str = "header") -> dict[str, Any]:
    """Return the fields of a record in an MCAP file, an SQLite file or the folder of a ROS 2 bag.

    Parameters
    ----------
    path
        Name of the file or folder.
    topics
        Topics to read. Empty: all topics of readable types.
    clock
        "header": stamps of the messages; "log": times at which they were recorded.
    """
    if clock not in CLOCKS:
        raise ArgumentError(f"the clock is '{clock}'.", expected=" or ".join(CLOCKS))
    channels, messages, remarks = _messages(path)
    by_topic = {channel.topic: channel for channel in channels if messages.get(channel)}
    if RECORD_TOPIC in by_topic and not topics:
        groups = {topic: _groups(channel, messages[channel], str(path)) for topic, channel in by_topic.items()}
        fields = own_fields(groups, str(path))
    else:
        chosen = _chosen(channels, messages, topics, str(path))
        series = [each for channel in chosen for each in _series(channel, messages[channel], remarks, str(path))]
        fields = _merged(series, clock, remarks, str(path))
    for remark in remarks:
        warnings.warn(f"{path}: {remark}.", ModelWarning, stacklevel=5)
    return fields


Messages = dict[int, MessageGroup]  # by length


def _messages(path: FilePath) -> tuple[Counter[BagTopic], dict[BagTopic, Messages], list[str]]:
    """Return the number of messages by channel, the messages that can be decoded, and remarks."""
    counts: Counter[BagTopic] = Counter()
    messages: dict[BagTopic, Messages] = {}
    remarks: list[str] = []
    try:
        for storage in storages(path):
            remarks += storage.remarks
            counts.update(dict.fromkeys(storage.channels.values(), 0))
            for (number, length), group in storage.groups.items():
                channel = storage.channels.get(number, BagTopic("", "", ""))
                counts[channel] += len(group.times)
                if channel.encoding == "cdr" and channel.type in DEFINITIONS:
                    target = messages.setdefault(channel, {}).setdefault(length, MessageGroup([], [], []))
                    target.indices.extend(group.indices)
                    target.times.extend(group.times)
                    target.contents.extend(group.contents)
    except OSError as error:
        raise DescriptionError(f"the bag cannot be read: {error.strerror or error}.", source=str(path)) from None
    return counts, messages, remarks


def _chosen(
    channels: Counter[BagTopic], messages: Mapping[BagTopic, Messages], topics: Sequence[str], source: str
) -> list[BagTopic]:
    listed = ", ".join(f"{c.topic} ({c.type or 'no type'}, {n} messages)" for c, n in sorted(channels.items()))
    by_topic = {channel.topic: channel for channel in channels}
    for topic in topics:
        if topic not in by_topic:
            raise DescriptionError(
                unknown_name("topic", topic, by_topic, "The bag"), expected=f"one of: {listed}", source=source
            )
    chosen = [c for c in channels if (not topics or c.topic in topics) and c.type in READABLE and messages.get(c)]
    unreadable = [topic for topic in topics if topic not in {channel.topic for channel in chosen}]
    if not chosen or unreadable:
        subject = f"topic {unreadable[0]} has" if unreadable else "the bag has"
        raise DescriptionError(
            f"{subject} no messages that can be read as columns. Its topics are: {listed or 'none'}.",
            expected=f"messages of type {', '.join(READABLE)}",
            source=source,
        )
    return chosen


def _groups(
    channel: BagTopic, messages: Messages, source: str
) -> Iterator[tuple[Structure, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield structure, bytes, indices and log times of messages of equal structure."""
    for length, group in messages.items():
        rows = np.frombuffer(b"".join(group.contents), np.uint8).reshape(len(group.times), length)
        index, log = np.array(group.indices, np.int64), np.array(group.times, np.int64)
        try:
            for selected, structure in decoded(channel.type, rows):
                every = slice(None) if len(selected) == len(rows) else selected
                yield structure, rows[every], index[every], log[every]
        except ValueError as error:
            raise DescriptionError(
                f"a message of topic {channel.topic} is not a {channel.type}: {error}.", source=source
            ) from None


def _series(channel: BagTopic, messages: Messages, remarks: list[str], source: str) -> list[TopicSeries]:
    """Return the series of a topic: one per set of joints."""
    read: dict[Any, Callable] = {JOINT_STATE: _joint_states, TRAJECTORY: _points}
    parts: dict[frozenset[str], list[tuple]] = {}
    for structure, rows, index, log in _groups(channel, messages, source):
        decode = read.get(channel.type, _part)
        names, stamps, arrival, blocks, index = decode(channel, structure, rows, index, log, remarks)
        frame = structure.texts["header.frame_id"]
        parts.setdefault(frozenset(names), []).append((names, stamps, arrival, blocks, index, frame))
    series = []
    for group in parts.values():
        quantities = list(dict.fromkeys(key for _, _, _, blocks, _, _ in group for key in blocks))
        names = group[0][0]
        index = np.concatenate([part[4] for part in group])
        order = np.argsort(index, kind="stable")
        values = np.full((len(index), len(quantities) * len(names)), np.nan)
        row = 0
        for own_names, stamps, _, blocks, _, _ in group:
            take = [own_names.index(name) for name in names]
            for k, quantity in enumerate(quantities):
                if quantity in blocks:
                    columns = slice(k * len(names), (k + 1) * len(names))
                    values[row : row + len(stamps), columns] = blocks[quantity][:, take]
            row += len(stamps)
        stamps, arrival = (np.concatenate([part[k] for part in group])[order] for k in (1, 2))
        heading = tuple(title for quantity in quantities for title in titles(quantity, names))
        series.append(TopicSeries(channel.topic, channel.type, heading, stamps, arrival, values[order], group[0][5]))
        if channel.type == TRAJECTORY:
            series[-1] = _replaced_points(series[-1], index[order])
    return series


def _joint_states(channel: BagTopic, structure: Structure, rows, index, log, remarks: list[str]):
    names, blocks = structure.texts["name"], {}
    for quantity, part in JOINT_FIELDS.items():
        count = structure.numbers[part][2]
        if count == len(names):
            blocks[quantity] = structure.column(rows, part)
        elif count:
            remarks.append(
                f"{len(rows)} messages of {channel.topic} have {count} numbers in '{part}' for {len(names)} joints; "
                "these numbers are left out"
            )
    return names, structure.stamps(rows), log, blocks, index


def _points(channel: BagTopic, structure: Structure, rows, index, log, remarks: list[str]):
    """Return all points of trajectories; a stamp of zero means that the motion starts on arrival."""
    names, count = structure.texts["joint_names"], structure.texts["points"]
    stamps = structure.stamps(rows)
    starts = np.where(stamps == 0, log, stamps)
    times = [starts + structure.stamps(rows, f"points.{k}.time_from_start") for k in range(count)]
    blocks = {}
    for quantity, part in POINT_FIELDS.items():
        if count and all(structure.numbers[f"points.{k}.{part}"][2] == len(names) for k in range(count)):
            points = [structure.column(rows, f"points.{k}.{part}") for k in range(count)]
            blocks[quantity] = np.stack(points, axis=1).reshape(-1, len(names))
    flat = np.stack(times, axis=1).ravel() if count else np.zeros(0, np.int64)
    return names, flat, np.repeat(log, count), blocks, np.repeat(index, count)


def _replaced_points(series: TopicSeries, message: np.ndarray) -> TopicSeries:
    """Return the points that were in force: a later trajectory replaces earlier ones from its first point on."""
    starts = np.full(len(message), np.iinfo(np.int64).max)
    firsts = np.flatnonzero(np.diff(message, prepend=-1))
    limit = np.iinfo(np.int64).max
    for first, end in zip(firsts[::-1], [*firsts[::-1][:0], len(message), *firsts[:0:-1]], strict=True):
        starts[first:end] = limit
        limit = min(limit, int(series.stamps[first]))
    kept = series.stamps < starts
    stamps, arrival, values = (array[kept] for array in (series.stamps, series.stamps, series.values))
    return replace(series, stamps=stamps, arrival=arrival, values=values)


def _part(channel: BagTopic, structure: Structure, rows, index, log, remarks: list[str]):
    quantity, parts = PARTS[channel.type]
    values = np.concatenate([structure.column(rows, path) for path in parts.values()], axis=1)
    names = [f"{channel.topic.strip('/')}_{end}" for end in parts]
    return names, structure.stamps(rows), log, {quantity: values}, index


def _merged(series: list[TopicSeries], clock: str, remarks: list[str], source: str) -> dict[str, Any]:
    """Return the columns of all series at the times of one of them."""
    if any(each.type == JOINT_STATE for each in series):  # trajectories are what was desired
        for k, each in enumerate(series):
            if each.type == TRAJECTORY:
                desired = [parse(title) for title in each.titles]
                series[k] = replace(each, titles=tuple(f"{quantity}d_{name}" for quantity, name in desired))
    owners: dict[str, str] = {}
    for each in series:
        for title in each.titles:
            if title in owners:
                raise DescriptionError(
                    f"topics {owners[title]} and {each.topic} both contain {title}.",
                    expected="one topic per column",
                    source=source,
                    hint=Hint("Select topics with {topics}.", topics=[each.topic]),
                )
            owners[title] = each.topic
    if clock == "header" and all((each.stamps == 0).all() for each in series):
        remarks.append("all stamps in the headers are zero; the times at which the messages were recorded are used")
        clock = "log"
    repairs: dict[str, list] = {}
    series = sorted(series, key=lambda each: (each.type == JOINT_STATE, len(each.stamps)), reverse=True)
    start = int(min((each.stamps if clock == "header" else each.arrival)[0] for each in series[:1]))
    for k, each in enumerate(series):
        raw = each.stamps if clock == "header" else each.arrival
        result = ordered(raw, 1e-9, each.arrival if clock == "header" else None, source, start)
        report = clock_report((result.stamps - start) / NS, result.repairs)
        remarks += [f"topic {each.topic}, {sentence}" for sentence in report.repairs()]
        for kind, incidents in result.repairs.items():
            repairs.setdefault(kind, []).extend(incidents)
        series[k] = replace(each, stamps=result.stamps, values=each.values[result.order])
    base = series[0]
    start = int(base.stamps[0])
    blocks = [base.values, *(_at(base.stamps, each) for each in series[1:])]
    about: dict[str, Any] = {"start_ns": start}
    if repairs:
        about["clock"] = repairs
    if frames := {each.topic: each.frame for each in series if each.frame and each.type in PARTS}:
        about["frames"] = frames
    return {
        "columns": ("t", *(title for each in series for title in each.titles)),
        "data": np.column_stack([(base.stamps - start) / NS, *blocks]),
        "about": about,
    }


def _at(stamps: np.ndarray, series: TopicSeries) -> np.ndarray:
    """Return the values of a series at other times: interpolated, and NaN outside of its times and in its gaps."""
    if np.array_equal(stamps, series.stamps):
        return series.values
    times, rows = np.unique(series.stamps, return_index=True)
    values = series.values[rows]
    if series.type == POSE:  # quaternions: the same rotation has two signs
        flips = np.cumprod(np.where((values[1:, 3:] * values[:-1, 3:]).sum(axis=1) < 0.0, -1.0, 1.0))
        values[1:, 3:] *= flips[:, None]
    t, at = (times - times[0]) / NS, (stamps - times[0]) / NS
    result = np.column_stack([np.interp(at, t, column, np.nan, np.nan) for column in values.T])
    if series.type == POSE:
        result[:, 3:] /= np.linalg.norm(result[:, 3:], axis=1, keepdims=True)
    step = np.diff(t)
    if len(step):
        k = np.clip(np.searchsorted(t, at) - 1, 0, len(step) - 1)
        in_gap = (step[k] > GAP_RATIO * np.median(step)) & (at > t[k]) & (at < t[k + 1])
        result[in_gap] = np.nan
    exact = np.isin(stamps, times)
    result[exact] = values[np.searchsorted(times, stamps[exact])]
    return result
