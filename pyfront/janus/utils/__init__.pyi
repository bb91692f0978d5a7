# Written by tools/stubs/write.py; do not edit.
from janus.utils import data as data

