/* String builder, and numbers as text.
 *
 * Doubles go through the C library's conversions under a "C" locale of this thread: the text must
 * not depend on what the embedding program set.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/base/str.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/alloc.h"

static bool reserve(jn_str *s, size_t more) {
    size_t need;
    if (s->broken)
        return false;
    if (!jn_add_size(s->n, more, &need) || !jn_add_size(need, 1, &need))
        goto broken;
    if (need > s->cap) {
        size_t cap = s->cap ? s->cap : 64;
        while (cap < need) {
            if (!jn_mul_size(cap, 2, &cap))
                goto broken;
        }
        char *p = jn_realloc(s->data, cap);
        if (!p)
            goto broken;
        s->data = p;
        s->cap = cap;
    }
    return true;
broken:
    s->broken = true;
    return false;
}

void jn_str_appendn(jn_str *s, const char *text, size_t n) {
    if (!reserve(s, n))
        return;
    if (n)
        memcpy(s->data + s->n, text, n);
    s->n += n;
    s->data[s->n] = 0;
}

void jn_str_append(jn_str *s, const char *text) { jn_str_appendn(s, text, strlen(text)); }
void jn_str_putc(jn_str *s, char c) { jn_str_appendn(s, &c, 1); }

void jn_str_printf(jn_str *s, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    char small[256];
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n < 0) {
        s->broken = true;
    } else if ((size_t)n < sizeof small) {
        jn_str_appendn(s, small, (size_t)n);
    } else if (reserve(s, (size_t)n)) {
        vsnprintf(s->data + s->n, (size_t)n + 1, fmt, again);
        s->n += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

/* glibc and musl return a static object for "C": nothing is allocated and nothing can fail. */
static locale_t c_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static const uint64_t SIGN = UINT64_C(1) << 63, QUIET_NAN = UINT64_C(0x7ff8000000000000),
                      MANTISSA = (UINT64_C(1) << 52) - 1, EXPONENT = UINT64_C(0x7ff0000000000000);

static uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Every decimal of up to 15 digits survives in a double, so fewer need no try, subnormals apart. */
static void append_shortest(jn_str *s, double v, int from, int to, bool as_float) {
    char text[40];
    locale_t c = c_locale(), old = uselocale(c);
    for (int digits = from; digits <= to; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        double back = strtod(text, NULL);
        if (as_float ? (float)back == (float)v : back == v)
            break;
    }
    uselocale(old);
    freelocale(c);
    jn_str_append(s, text);
    if (!strpbrk(text, ".e"))
        jn_str_append(s, ".0");
}

void jn_str_double(jn_str *s, double v) {
    uint64_t bits = bits_of(v);
    if (isnan(v)) {
        jn_str_append(s, bits & SIGN ? "-nan" : "nan");
        if ((bits & ~SIGN) != QUIET_NAN)
            jn_str_printf(s, ":0x%llx", (unsigned long long)(bits & MANTISSA));
        return;
    }
    if (isinf(v)) {
        jn_str_append(s, v < 0 ? "-inf" : "inf");
        return;
    }
    append_shortest(s, v, fabs(v) < DBL_MIN ? 1 : DBL_DIG, 17, false);
}

void jn_str_float(jn_str *s, float v) {
    if (isfinite(v))
        append_shortest(s, v, 1, 9, true);
    else
        jn_str_double(s, v);
}

void jn_str_quote(jn_str *s, const char *text, size_t n) {
    jn_str_putc(s, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *special = "\"\\\n\t\r\b\f", *p = c ? strchr(special, c) : NULL;
        if (p) {
            jn_str_putc(s, '\\');
            jn_str_putc(s, "\"\\ntrbf"[p - special]);
        } else if (c < 0x20) {
            jn_str_printf(s, "\\u%04x", c);
        } else {
            jn_str_putc(s, (char)c);
        }
    }
    jn_str_putc(s, '"');
}

static bool parse_hex64(const char *text, size_t n, uint64_t *out) {
    uint64_t v = 0;
    if (n == 0 || n > 16)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *digits = "0123456789abcdef", *p = text[i] ? strchr(digits, text[i]) : NULL;
        if (!p)
            return false;
        v = v << 4 | (uint64_t)(p - digits);
    }
    *out = v;
    return true;
}

bool jn_is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$' || c == '-';
}

void jn_str_name(jn_str *s, char sigil, const char *name) {
    size_t n = strlen(name), i = 0;
    while (i < n && jn_is_name_char(name[i]))
        i++;
    jn_str_putc(s, sigil);
    if (i == n && n)
        jn_str_appendn(s, name, n);
    else
        jn_str_quote(s, name, n);
}

static void append_utf8(jn_str *s, uint64_t c) {
    if (c < 0x80) {
        jn_str_putc(s, (char)c);
    } else if (c < 0x800) {
        jn_str_putc(s, (char)(0xc0 | c >> 6));
        jn_str_putc(s, (char)(0x80 | (c & 0x3f)));
    } else {
        jn_str_putc(s, (char)(0xe0 | c >> 12));
        jn_str_putc(s, (char)(0x80 | (c >> 6 & 0x3f)));
        jn_str_putc(s, (char)(0x80 | (c & 0x3f)));
    }
}

size_t jn_str_unquote(jn_str *s, const char *text, size_t n) {
    const char *named = "\"\\/ntrbf", *meaning = "\"\\/\n\t\r\b\f", *p;
    uint64_t code;
    if (n == 0 || text[0] != '"')
        return 0;
    for (size_t i = 1; i < n; i++) {
        char c = text[i];
        if (c == '"')
            return i + 1;
        if (c == 0 || c == '\n')
            return 0;
        if (c != '\\') {
            jn_str_putc(s, c);
            continue;
        }
        if (++i == n || text[i] == 0)
            return 0;
        if ((p = strchr(named, text[i]))) {
            jn_str_putc(s, meaning[p - named]);
        } else if (text[i] == 'u' && n - i > 4 && parse_hex64(text + i + 1, 4, &code) && code &&
                   (code < 0xd800 || code > 0xdfff)) {
            append_utf8(s, code);
            i += 4;
        } else {
            return 0;
        }
    }
    return 0;
}

char *jn_str_take(jn_str *s) {
    if (!s->data)
        jn_str_appendn(s, "", 0);
    if (s->broken) {
        jn_str_free(s);
        return NULL;
    }
    char *text = s->data;
    *s = (jn_str){0};
    return text;
}

void jn_str_free(jn_str *s) {
    jn_free(s->data);
    *s = (jn_str){0};
}

static bool starts(const char *text, size_t n, const char *word) {
    size_t k = strlen(word);
    return n >= k && !memcmp(text, word, k);
}

bool jn_parse_double(const char *text, size_t n, double *out) {
    uint64_t sign = 0, payload;
    const char *digits = text;
    size_t left = n;
    if (left && (*digits == '-' || *digits == '+')) {
        sign = *digits == '-' ? SIGN : 0;
        digits++, left--;
    }
    if (starts(digits, left, "inf") && left == 3) {
        *out = double_of(EXPONENT | sign);
        return true;
    }
    if (starts(digits, left, "nan")) {
        if (left == 3)
            payload = QUIET_NAN & MANTISSA;
        else if (!starts(digits, left, "nan:0x") || !parse_hex64(digits + 6, left - 6, &payload) ||
                 payload == 0 || payload > MANTISSA)
            return false;
        *out = double_of(EXPONENT | sign | payload);
        return true;
    }
    char buffer[128];
    if (left == 0 || n >= sizeof buffer || !((*digits >= '0' && *digits <= '9') || *digits == '.'))
        return false;
    memcpy(buffer, text, n);
    buffer[n] = 0;
    char *end;
    locale_t c = c_locale(), old = uselocale(c);
    double v = strtod(buffer, &end);
    uselocale(old);
    freelocale(c);
    if (end != buffer + n)
        return false;
    *out = v;
    return true;
}

bool jn_parse_int64(const char *text, size_t n, int64_t *out) {
    bool negative = n && *text == '-';
    size_t i = negative || (n && *text == '+');
    if (i == n)
        return false;
    int64_t v = 0;
    for (; i < n; i++) {
        int digit = text[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_sub_overflow(v, digit, &v))
            return false; /* negative numbers: the least one has no positive counterpart */
    }
    if (!negative && __builtin_sub_overflow(0, v, &v))
        return false;
    *out = v;
    return true;
}
