# SPDX-License-Identifier: Apache-2.0
def last_times():
    return {}
