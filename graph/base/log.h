/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named, switchable debug artifacts (JANUS_LOG=guards,graphs,conversions,fallbacks,plans,
 * schedule).
 * The lines go to standard error, which the library touches only because the user asked for it by
 * setting JANUS_LOG ("all": every topic).
 */
#ifndef JN_BASE_LOG_H
#define JN_BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>

typedef enum jn_log_topic {
    JN_LOG_GUARDS,
    JN_LOG_GRAPHS,
    JN_LOG_CONVERSIONS,
    JN_LOG_FALLBACKS,
    JN_LOG_PLANS,
    JN_LOG_SCHEDULE,
    JN_LOG_COUNT
} jn_log_topic;

bool jn_log_on(jn_log_topic topic);
__attribute__((format(printf, 2, 3))) void jn_log(jn_log_topic topic, const char *fmt, ...);
/* For programs: from now on the topic is on, and its lines go there without its name. */
void jn_log_to(jn_log_topic topic, FILE *f);

#endif
