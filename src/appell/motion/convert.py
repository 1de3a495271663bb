"""Records as the tables of other libraries, which are imported when one is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from appell.errors import ArgumentError, needed_package

if TYPE_CHECKING:
    import pandas
    import xarray

    from appell.motion.record import Record
    from appell.motion.records import Records

AXES = {"q": "coordinate", "qd": "coordinate", "v": "velocity", "a": "velocity", "vd": "velocity", "ad": "velocity"}


def to_csv(record: Record, path: str | Path, *, overwrite: bool = False) -> None:
    """A table of text, `record.write` to a name that ends in .csv: a heading, then a row a line.

    record.to_csv("swing.csv")
    pandas.read_csv("swing.csv", comment="#")
    """
    if Path(path).suffix.lower() != ".csv":
        raise ArgumentError(f"to_csv is to write '{Path(path).name}'.", expected="a name in .csv", hint="record.write")
    record.write(path, overwrite=overwrite)


def to_pandas(record: Record) -> pandas.DataFrame:
    """A DataFrame over `t`, a column a title; its `attrs` say what is known.

    record.to_pandas()["q_elbow"].plot()
    """
    library = needed_package("pandas", "to_pandas", "appell[results]")
    table = library.DataFrame(record.data[:, 1:], library.Index(record.t, name="t"), list(record.columns[1:]))
    table.attrs |= record.about
    return table


def to_xarray(record: Record) -> xarray.Dataset:
    """A Dataset over `time`, a variable a quantity, whose other axis has the names; events are attributes.

    record.to_xarray()["q"].sel(coordinate="elbow")
    """
    data: dict[str, Any] = {}
    axes: dict[str, Any] = {"time": record.t}
    for quantity in record.quantities[1:]:
        dims: tuple[str, ...] = ("time",)
        if quantity not in record.columns:
            axis, names = AXES.get(quantity, "actuator"), list(record.names(quantity))
            if axes.setdefault(axis, names) != names:
                axes[axis := f"{quantity}_name"] = names
            dims = ("time", axis)
        data[quantity] = (dims, record[quantity])
    about = {**record.about, "events": [str(event) for event in record.events]}
    return needed_package("xarray", "to_xarray", "appell[results]").Dataset(data, coords=axes, attrs=about)


def records_to_xarray(records: Records) -> xarray.Dataset:
    """A Dataset over `member` and `time`, a variable a quantity, whose last axis has the names; `total_cost` a member.

    records.to_xarray()["q"].sel(coordinate="elbow").quantile([0.05, 0.95], "member")
    """
    data: dict[str, Any] = {}
    axes: dict[str, Any] = {"time": records.t}
    for quantity, block in records.blocks.items():
        dims: tuple[str, ...] = ("member", "time")
        if records.titles[quantity]:
            axis, names = AXES.get(quantity, "actuator"), list(records.names(quantity))
            if axes.setdefault(axis, names) != names:
                axes[axis := f"{quantity}_name"] = names
            dims = (*dims, axis)
        data[quantity] = (dims, block)
    if records.cost is not None:
        data["total_cost"] = (("member",), records.cost)
    return needed_package("xarray", "to_xarray", "appell[results]").Dataset(data, coords=axes, attrs=records.about)
