"""Moved to hoag._data.out_of_core."""

from hoag._data.out_of_core import adopt as adopt
from hoag._data.out_of_core import is_out_of_core as is_out_of_core
from hoag._data.out_of_core import predicted as predicted
from hoag._data.out_of_core import with_own_y as with_own_y
