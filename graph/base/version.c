/* The version string; it stands in configure.ac and nowhere else. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "janus.h"

const char *janus_version(void) { return PACKAGE_VERSION; }
