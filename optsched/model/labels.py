"""Arrays of expressions whose axes have names and labels, for data that comes with an index.

Numbers from pandas or xarray are aligned by label, whatever their order; labels that differ raise,
naming both indexes. Sizes never decide. What is underneath, ``x.array``, is a plain expression.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from optsched.errors import ModelError, NoMeaningError, needs_extra
from optsched.model.expression import Expression, Floats, Relation, Shape
from optsched.model.given_numbers import given_numbers

if TYPE_CHECKING:
    import pandas as pd

Labels = dict[str, "pd.Index[Any]"]
"""The labels of each axis by its name, in order."""
_SHOWN = 4  # labels of an index in a message


def labels_of(name: str, coords: Mapping[str, Any]) -> Labels:
    """The axes of a variable block.

    Raises:
        ModelError: no axis at all, or a label given twice.
    """
    import pandas as pd

    labels: Labels = {str(dim): pd.Index(index, name=str(dim)) for dim, index in coords.items()}
    if not labels:
        raise ModelError(f"variable {name!r}: coords name no dimension")
    for dim, index in labels.items():
        if not index.is_unique:
            twice = index[index.duplicated()][0]
            raise ModelError(f"variable {name!r}: dimension {dim!r} has the label {twice!r} twice")
    if len(labels) > 2:
        _data_array()
    return labels


def _data_array() -> Any:
    try:
        from xarray import DataArray
    except ImportError:
        what = "an array with three or more labelled dimensions"
        raise ModelError(needs_extra(what, "labels")) from None
    return DataArray


def with_labels(values: Floats, labels: Labels) -> Any:
    """Values as a Series, a DataFrame or, from three axes on, a DataArray."""
    import pandas as pd

    if len(labels) == 1:
        (index,) = labels.values()
        return pd.Series(values, index=index)
    if len(labels) == 2:
        rows, columns = labels.values()
        return pd.DataFrame(values, index=rows, columns=columns)
    return _data_array()(values, coords=labels, dims=list(labels))


def numbers(where: str, value: Any, labels: Labels) -> Floats:
    """Numbers in the order of the labels, with length one along axes they do not have.

    Raises:
        ModelError: labels that differ, or an array without labels of another shape.
    """
    own, array = _read(where, value, labels)
    extra = [dim for dim in own if dim not in labels]
    if extra:
        raise ModelError(f"{where}: there is no dimension {extra[0]!r}, only {', '.join(labels)}")
    placed: Floats = _placed(where, array, own, labels)
    return placed


class Labelled:
    """An expression with a name and labels for every axis; see the module.

    Sums over all axes are plain single expressions; comparing gives a relation whose block has
    the labels, and whose duals come back with them.

    Example:
        >>> import pandas as pd
        >>> from optsched import Model, solve
        >>> m = Model("assign")
        >>> cost = pd.DataFrame({"fast": [1.0, 9.0], "slow": [2.0, 3.0]}, index=["a", "b"])
        >>> x = m.binary("x", coords={"job": cost.index, "server": cost.columns})
        >>> m.add("once", x.sum("server") == 1)
        >>> m.minimize((x * cost).sum())
        >>> solve(m)["x"].loc["b", "slow"].item()
        1.0
    """

    __slots__ = ("array", "labels")
    __array_ufunc__ = None  # arithmetic with us is left to our own methods
    __pandas_priority__ = 6000  # by pandas, too
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Expression, labels: Labels) -> None:
        self.array = array
        """Without labels: for ``m.maximum``, numpy and all else that goes by position."""
        self.labels = labels

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(self.labels)

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self.array.shape

    def __repr__(self) -> str:
        axes = ", ".join(f"{dim}: {len(index)}" for dim, index in self.labels.items())
        return f"<{type(self.array).__name__} over {axes}>"

    # arithmetic and relations

    def _with(self, operation: str, other: Any) -> tuple[Any, Any, Labels]:
        """Both sides over the axes of either, this one's first."""
        own, array = _read(operation, other, self.labels)
        labels = {**self.labels, **{dim: i for dim, i in own.items() if dim not in self.labels}}
        left = self.array.reshape(*self.shape, *[1] * (len(labels) - len(self.labels)))
        return left, _placed(operation, array, own, labels), labels

    def __neg__(self) -> Labelled:
        return Labelled(-self.array, self.labels)

    def __add__(self, other: Any) -> Labelled:
        left, right, labels = self._with("+", other)
        return Labelled(left + right, labels)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Labelled:
        left, right, labels = self._with("-", other)
        return Labelled(left - right, labels)

    def __rsub__(self, other: Any) -> Labelled:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Labelled:
        left, right, labels = self._with("*", other)
        return Labelled(left * right, labels)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Labelled:
        left, right, labels = self._with("/", other)
        return Labelled(left / right, labels)

    def __le__(self, other: Any) -> Relation:
        left, right, labels = self._with("comparison", other)
        relation: Relation = left <= right
        return relation.labelled(labels)

    def __ge__(self, other: Any) -> Relation:
        left, right, labels = self._with("comparison", other)
        relation: Relation = left >= right
        return relation.labelled(labels)

    def __eq__(self, other: Any) -> Relation:  # type: ignore[override]
        left, right, labels = self._with("comparison", other)
        relation: Relation = left == right
        return relation.labelled(labels)

    def between(self, lower: Any, upper: Any) -> Relation:
        """``lower <= expression <= upper`` as one block of rows."""
        low, high = (numbers("between", side, self.labels) for side in (lower, upper))
        return self.array.between(low, high).labelled(self.labels)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NoMeaningError(
            "of a labelled expression only arithmetic, sums, sel and comparisons are known; "
            "x.array is the same without labels, and numbers from xarray stand on its right"
        )

    __bool__ = __iter__ = __getitem__ = __array__ = __array_function__ = __lt__ = __gt__ = _refuse
    __matmul__ = __rmatmul__ = __pow__ = __abs__ = __rtruediv__ = _refuse
    __ne__ = _refuse

    # axes

    def _axis(self, dim: str) -> int:
        if dim not in self.labels:
            raise ModelError(f"there is no dimension {dim!r}, only {', '.join(self.labels)}")
        return self.dims.index(dim)

    def sum(self, dims: str | Sequence[str] | None = None) -> Any:
        """Sum over the dimensions named, or over all, which gives a plain single expression."""
        named = [dims] if isinstance(dims, str) else list(self.labels if dims is None else dims)
        total = self.array.sum(tuple(self._axis(dim) for dim in named))
        return _or_plain(total, {d: i for d, i in self.labels.items() if d not in named})

    def sum_by(self, groups: pd.Series[Any]) -> Labelled:
        """Add up along one dimension what belongs to one group.

        Args:
            groups: by label of that dimension the group; its name is that of the new dimension,
                which stands where the other stood.
        """
        import pandas as pd

        (dim,) = _dims("sum_by", [groups.index], self.labels)
        axis, new = self._axis(dim), str(groups.name)
        order = _order("sum_by", dim, self.labels[dim], groups.index)
        codes, kinds = pd.factorize(groups.to_numpy()[order], sort=True)
        factor = np.zeros((len(kinds), len(codes)))
        factor[codes, np.arange(len(codes))] = 1.0
        array: Any = self.array
        summed: Any = np.moveaxis(np.moveaxis(array, axis, -1) @ factor.T, -1, axis)
        labels = [(new, pd.Index(kinds, name=new)) if d == dim else (d, i)
                  for d, i in self.labels.items()]  # fmt: skip
        return Labelled(summed, dict(labels))

    def sel(self, **chosen: Any) -> Any:
        """Entries by label: one label of a dimension drops it, a list keeps it in that order."""
        import pandas as pd

        array, labels = self.array, dict(self.labels)
        for dim, wanted in chosen.items():
            axis = list(labels).index(dim) if dim in labels else self._axis(dim)
            index, single = labels[dim], isinstance(wanted, Hashable)
            places = index.get_indexer(pd.Index([wanted] if single else list(wanted)))
            if (places < 0).any():
                raise ModelError(f"sel: dimension {dim!r} has no {wanted!r}, only {_some(index)}")
            key = (slice(None),) * axis + (int(places[0]) if single else places,)
            array = array[key]
            labels = {d: i[places] if d == dim else i for d, i in labels.items()
                      if not (single and d == dim)}  # fmt: skip
        return _or_plain(array, labels)


def _or_plain(array: Expression, labels: Labels) -> Labelled | Expression:
    return Labelled(array, labels) if labels else array


def _read(where: str, value: Any, known: Labels) -> tuple[Labels, Any]:
    """An operand's own axes, and what stands there without them."""
    import pandas as pd

    if isinstance(value, Labelled):
        return value.labels, value.array
    if isinstance(value, pd.Series) and isinstance(value.index, pd.MultiIndex):
        return _unstacked(where, value)
    if isinstance(value, pd.Series | pd.DataFrame):
        indexes = [value.index] if isinstance(value, pd.Series) else [value.index, value.columns]
        dims = _dims(where, indexes, known)
        return dict(zip(dims, indexes, strict=True)), given_numbers(where, value.to_numpy())
    if type(value).__module__.partition(".")[0] == "xarray":
        bare = [dim for dim in value.dims if dim not in value.coords]
        if bare:
            raise ModelError(f"{where}: dimension {bare[0]!r} of the DataArray has no labels")
        labels = {str(dim): value.indexes[dim] for dim in value.dims}
        return labels, given_numbers(where, value.to_numpy())
    array: Any = value if isinstance(value, Expression) else given_numbers(where, value)
    shape = tuple(map(len, known.values()))
    if array.shape not in ((), shape):
        raise ModelError(
            f"{where}: an array of shape {array.shape} without labels does not say which of "
            f"{', '.join(known)} it has; give a Series, DataFrame or DataArray"
        )
    return (known if array.shape else {}), array


def _unstacked(where: str, series: pd.Series[Any]) -> tuple[Labels, Floats]:
    """A series over several named levels as an array; it must have every combination once."""
    import pandas as pd

    index: Any = series.index
    if None in index.names:
        raise ModelError(f"{where}: the levels of the Series' index have no names")
    labels: Labels = {str(n): index.get_level_values(n).unique() for n in index.names}
    full = pd.MultiIndex.from_product(list(labels.values()))
    if not index.is_unique or len(index) != len(full):
        raise ModelError(
            f"{where}: the Series has {len(index)} entries, not one for each of the {len(full)} "
            f"combinations of {', '.join(labels)}"
        )
    values = given_numbers(where, series.reindex(full).to_numpy())
    return labels, values.reshape(tuple(map(len, labels.values())))


def _dims(where: str, indexes: list[Any], known: Labels) -> list[str]:
    """The dimension of each index: the one it names, otherwise the one with the same labels."""
    found: list[str] = []
    for index in indexes:
        if index.name is not None:
            found.append(str(index.name))
            continue
        same = [d for d, i in known.items() if len(i) == len(index) and i.isin(index).all()]
        if len(same) != 1:
            kind = "several dimensions have" if same else "no dimension has"
            told = "; ".join(f"{d}: {_some(i)}" for d, i in known.items())
            raise ModelError(
                f"{where}: {kind} the labels {_some(index)} of an index without a name ({told})"
            )
        found += same
    if len(set(found)) < len(found):
        raise ModelError(f"{where}: both axes of the DataFrame are {found[0]!r}; name them")
    return found


def _order(where: str, dim: str, wanted: Any, given: Any) -> Any:
    """Where each label wanted stands in the index given."""
    places = given.get_indexer(wanted) if given.is_unique else np.full(1, -1)
    if len(given) != len(wanted) or (places < 0).any():
        raise ModelError(
            f"{where}: labels of dimension {dim!r} differ: {_some(wanted)} and {_some(given)}"
        )
    return places


def _placed(where: str, array: Any, own: Labels, labels: Labels) -> Any:
    """An operand with its axes in the order of ``labels``, of length one if it has none."""
    for axis, (dim, index) in enumerate(own.items()):
        if dim in labels and not index.equals(labels[dim]):
            array = array[(slice(None),) * axis + (_order(where, dim, labels[dim], index),)]
    here = [dim for dim in labels if dim in own]
    if here != list(own):
        array = array.transpose([list(own).index(dim) for dim in here])
    return array.reshape(tuple(len(labels[d]) if d in own else 1 for d in labels)) if own else array


def _some(index: Any) -> str:
    first = ", ".join(map(repr, index[:_SHOWN].tolist()))
    return f"[{first}{', ...' if len(index) > _SHOWN else ''}] ({len(index)})"
