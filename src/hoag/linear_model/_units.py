"""Moved to hoag._glm.units."""

from hoag._glm.units import ABOVE as ABOVE
from hoag._glm.units import LARGEST as LARGEST
from hoag._glm.units import WEIGHT as WEIGHT
from hoag._glm.units import Units as Units
from hoag._glm.units import auto_box as auto_box
from hoag._glm.units import column_energies as column_energies
from hoag._glm.units import group_energies as group_energies
from hoag._glm.units import units as units
from hoag._glm.units import warn_hidden as warn_hidden
