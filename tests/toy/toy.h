/* SPDX-License-Identifier: Apache-2.0 */
/* A device for tests: tests/toy/toy.c. */
#ifndef JN_TESTS_TOY_H
#define JN_TESTS_TOY_H

#include "ops/device.h"

const jn_dev_module *janus_toy_module(void);

#endif
