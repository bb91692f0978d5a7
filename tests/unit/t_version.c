/* The version the library reports is the one it was built as. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "janus.h"
#include "tests/unit/check.h"

#include <string.h>

static void version_is_packages(void) { CU_ASSERT_STRING_EQUAL(janus_version(), PACKAGE_VERSION); }

JN_TEST_MAIN("version", {"reported version is the package's", version_is_packages})
