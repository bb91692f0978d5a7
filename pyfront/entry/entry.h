/* SPDX-License-Identifier: Apache-2.0 */
/* A converted call: what it is made of, its results and effects, its node of the tape. */
#ifndef JPY_ENTRY_H
#define JPY_ENTRY_H

#include "pyfront/entry/away.h"
#include "pyfront/entry/commit.h"
#include "pyfront/entry/external.h"
#include "pyfront/entry/host.h"
#include "pyfront/entry/parts.h"
#include "pyfront/entry/print.h"
#include "pyfront/entry/write.h"

#endif
