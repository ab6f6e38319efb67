// SPDX-License-Identifier: MIT
/* xorshift128+ seeded by splitmix64; stream contents by position: see prng.h. */
#include "prng.h"

u64 sim_mix(u64 x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

void sim_prng_init(struct sim_prng *p, u64 seed)
{
	p->s[0] = sim_mix(seed);
	p->s[1] = sim_mix(p->s[0] ^ seed) | 1;
}

u64 sim_rand(struct sim_prng *p)
{
	u64 a = p->s[0], b = p->s[1];

	p->s[0] = b;
	a ^= a << 23;
	p->s[1] = a ^ b ^ a >> 18 ^ b >> 5;
	return p->s[1] + b;
}

u64 sim_below(struct sim_prng *p, u64 n)
{
	return n ? sim_rand(p) % n : 0;
}

u64 sim_between(struct sim_prng *p, u64 lo, u64 hi)
{
	return lo + sim_below(p, hi - lo + 1);
}

u64 sim_spread(struct sim_prng *p, u64 lo, u64 hi)
{
	u32 steps = 0;
	u64 v;

	while (lo << steps < hi)
		steps++;
	v = lo << sim_below(p, steps + 1);
	v += sim_below(p, v + 1);
	return min(v, hi);
}

bool sim_chance(struct sim_prng *p, u32 ppm)
{
	return ppm && sim_below(p, SIM_PPM) < ppm;
}

void sim_stream_fill(u64 key, u64 pos, u8 *p, u32 len)
{
	u64 word = sim_mix(key + pos / 8);
	u32 i;

	for (i = 0; i < len; i++, pos++) {
		if (pos % 8 == 0)
			word = sim_mix(key + pos / 8);
		p[i] = (u8)(word >> (pos % 8 * 8));
	}
}
