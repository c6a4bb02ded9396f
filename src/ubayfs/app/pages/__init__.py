"""The screens; importing this registers them."""

from . import answer as answer
from . import data as data
from . import evidence as evidence
from . import know as know
from . import rules as rules
from . import versions as versions
