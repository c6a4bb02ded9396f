"""The screens; importing this registers them."""

from . import data as data
from . import evidence as evidence
