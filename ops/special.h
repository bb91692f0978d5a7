/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that C libraries lack, in double, for kernels of every device: the inverse of erf, and
 * the derivatives of log gamma.  All are total and end after a bounded number of steps.
 */
#ifndef JN_OPS_SPECIAL_H
#define JN_OPS_SPECIAL_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define JN_SPECIAL static __device__ inline
#else
#define JN_SPECIAL static inline __attribute__((unused))
#endif

/* lgamma writes a global variable, the sign; threads must not. */
JN_SPECIAL double jn_lgamma(double x) {
#ifdef __CUDACC__
    return lgamma(x);
#else
    int sign;
    return lgamma_r(x, &sign);
#endif
}

/* erf(y) = x: a guess that is right to four thousandths, then Halley's steps, each of which triples
 * the number of digits.  Near 1 it is 1 - |x|, which is exact, that erfc is compared with. */
JN_SPECIAL double jn_erfinv(double x) {
    double v = fabs(x);
    if (!(v < 1))
        return v == 1 ? copysign((double)INFINITY, x) : (double)NAN;
    if (v < 1e-150) /* squares vanish; beyond the first term there is nothing */
        return x * 0.88622692545275801365;
    double l = log1p(-v * v), t = 4.3307467508002 + 0.5 * l;
    double y = sqrt(-l / 0.147 / (sqrt(t * t - l / 0.147) + t));
    for (int i = 0; i < 3; i++) {
        double miss = v < 0.5 ? erf(y) - v : (1 - v) - erfc(y);
        double step = miss * exp(y * y) * 0.88622692545275801365;
        y -= step / (1 + y * step);
    }
    return copysign(y, x);
}

/* The sum of (q + k)^-s over k >= 0, s >= 2, q > 0: terms below 12, then what Euler's and
 * Maclaurin's formula says of the others. */
JN_SPECIAL double jn_zeta_above(double s, double q) {
    const double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
    double sum = 0;
    for (; q < 12; q++)
        sum += pow(q, -s);
    double tail = pow(q, -s);
    sum += tail * (q / (s - 1) + 0.5);
    /* rising = s (s+1) ... (s+2k-2) / (2k)! q^-(s+2k-1) */
    double rising = 0.5 * s * tail / q;
    for (int k = 0; k < 8 && rising != 0; k++) {
        sum += bernoulli[k] * rising;
        rising *= (s + 2 * k + 1) / (2 * k + 3) * ((s + 2 * k + 2) / (2 * k + 4)) / (q * q);
    }
    return sum;
}

/* The same of any q: below 0 there are finitely many terms, which are those of q's fraction without
 * those beyond -q, so nothing is counted up from q. */
JN_SPECIAL double jn_zeta(double s, double q) {
    if (q > 0)
        return jn_zeta_above(s, q);
    double part = q - floor(q);
    if (!(part > 0)) /* a pole, as -infinity is */
        return isnan(q) ? q : (double)INFINITY;
    double below = jn_zeta_above(s, 1 - part) - jn_zeta_above(s, 1 - q);
    return jn_zeta_above(s, part) + (fmod(s, 2.0) == 0 ? below : -below);
}

JN_SPECIAL double jn_digamma(double x) {
    const double series[] = {-1.0 / 12,  1.0 / 120,     -1.0 / 252, 1.0 / 240,
                             -1.0 / 132, 691.0 / 32760, -1.0 / 12,  3617.0 / 8160};
    const double pi = 3.14159265358979323846;
    double y = 0;
    if (x == 0)
        return copysign((double)INFINITY, -x);
    if (x < 0) { /* digamma(1 - x) - pi / tan(pi x), of whose angle the whole turns are left out */
        double part = x - floor(x);
        if (!(part > 0)) /* a pole, or -infinity */
            return (double)NAN;
        y = -pi / tan(pi * part);
        x = 1 - x;
    }
    for (; x < 12; x++)
        y -= 1 / x;
    double square = 1 / (x * x), power = square;
    y += log(x) - 0.5 / x;
    for (int k = 0; k < 8; k++, power *= square)
        y += series[k] * power;
    return y;
}

/* The n-th derivative of digamma. */
JN_SPECIAL double jn_polygamma(double x, int64_t n) {
    double factorial = 1;
    if (n == 0)
        return jn_digamma(x);
    for (int64_t k = 2; k <= n && k <= 171; k++) /* beyond it is infinite */
        factorial *= (double)k;
    double value = factorial * jn_zeta((double)n + 1, x);
    return n % 2 ? value : -value;
}

#endif
