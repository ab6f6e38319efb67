/* SPDX-License-Identifier: MIT */
/* The only source of chance in the simulator: a run is a function of its seed. */
#ifndef KRCORE_SIM_PRNG_H
#define KRCORE_SIM_PRNG_H

#include "core/env.h"

struct sim_prng {
	u64 s[2];
};

enum { SIM_PPM = 1000000 };

u64 sim_mix(u64 x);
void sim_prng_init(struct sim_prng *p, u64 seed);
u64 sim_rand(struct sim_prng *p);

/* [0, n), [lo, hi]; the last one even over the orders of magnitude. */
u64 sim_below(struct sim_prng *p, u64 n);
u64 sim_between(struct sim_prng *p, u64 lo, u64 hi);
u64 sim_spread(struct sim_prng *p, u64 lo, u64 hi);
bool sim_chance(struct sim_prng *p, u32 ppm);

/* The bytes of the stream @key from @pos on. */
void sim_stream_fill(u64 key, u64 pos, u8 *p, u32 len);

#endif
