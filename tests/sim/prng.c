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
	return n ? (u64)((unsigned __int128)sim_rand(p) * n >> 64) : 0;
}

u64 sim_between(struct sim_prng *p, u64 lo, u64 hi)
{
	return lo + sim_below(p, hi - lo + 1);
}

u64 sim_spread(struct sim_prng *p, u64 lo, u64 hi)
{
	u32 steps = 0;
	u64 v;

	if (lo < hi)
		steps = __builtin_clzll(lo) - __builtin_clzll(hi);
	if (lo << steps < hi)
		steps++;
	v = lo << sim_below(p, steps + 1);
	v += sim_below(p, v + 1);
	return min(v, hi);
}

bool sim_chance(struct sim_prng *p, u32 ppm)
{
	return ppm && sim_below(p, SIM_PPM) < ppm;
}

/* Cheaper than sim_mix(): most bytes of a run pass here twice. */
static u64 stream_word(u64 key, u64 pos)
{
	u64 x = (key + pos) * 0x9e3779b97f4a7c15ull;

	return x ^ x >> 32;
}

/* Up to the end of the word; how much it was. */
static u32 fill_part(u64 key, u64 pos, u8 *p, u32 len)
{
	u64 word = stream_word(key, pos / 8) >> 8 * (pos % 8);
	u32 part = min_t(u32, 8 - pos % 8, len);

	memcpy(p, &word, part);
	return part;
}

void sim_stream_fill(u64 key, u64 pos, u8 *p, u32 len)
{
	u32 done = pos % 8 ? fill_part(key, pos, p, len) : 0;
	u64 word;

	for (; len - done >= 8; done += 8) {
		word = stream_word(key, (pos + done) / 8);
		memcpy(p + done, &word, 8);
	}
	if (done < len)
		fill_part(key, pos + done, p + done, len - done);
}
