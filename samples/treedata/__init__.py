# SPDX-License-Identifier: Apache-2.0
"""Trees to learn from: functions of the standard library (`stdlib`), sentiment trees (`ptb`)."""
