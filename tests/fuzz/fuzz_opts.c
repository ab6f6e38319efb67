// SPDX-License-Identifier: MIT
/*
 * fuzz_opts: any calls of setsockopt() with any numbers, under any sysctls.  A value
 * is taken only within TCP's bounds, reads back, changes no other option, and what a
 * VQP is told is always a time that it can keep.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "core/opts.h"
#include "fuzz.h"
#include "unit/core_env.h"

static const int names[] = {
	TCP_NODELAY, TCP_CORK, TCP_QUICKACK, TCP_USER_TIMEOUT, TCP_KEEPIDLE,
	TCP_KEEPINTVL, TCP_KEEPCNT, TCP_LINGER2,
};

static bool is_ours(int level, int name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (level == SOL_TCP && names[i] == name)
			return true;
	return false;
}

static void check_set(struct kr_opts *o, const struct kr_opt_defaults *d, int name, int value)
{
	int before[ARRAY_SIZE(names)];
	bool is_flag = name == TCP_NODELAY || name == TCP_CORK || name == TCP_QUICKACK;
	int err, now;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		before[i] = kr_opts_get(o, d, names[i]);
	err = kr_opts_set(o, name, value);
	check(!err || err == -EINVAL);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		now = kr_opts_get(o, d, names[i]);
		if (err || names[i] != name)
			check(now == before[i]);
		else if (is_flag)
			check(now == !!value);
		else if (name != TCP_LINGER2)
			check(now == value && value >= 0);
		else if (value)
			check(now == (value < 0 ? -1 : value < 120 ? value : 120));
	}
}

static void check_apply(const struct kr_opts *o, const struct kr_opt_defaults *d)
{
	struct kr_vqp_opts v;

	kr_opts_apply(o, d, &v);
	/* 0: not set. */
	check(v.user_timeout_ns % KR_MSEC == 0 && v.user_timeout_ns < KR_MSEC << 31);
	check(v.orphan_ns <= KR_SEC * max(d->fin_timeout_s, 120u));
	check(!!v.keep_idle_ns == o->is_keepalive);
	check(!!v.keep_intvl_ns == o->is_keepalive);
	check(v.keep_idle_ns <= KR_SEC * max(d->keep_idle_s, 32767u));
	check(v.keep_intvl_ns <= KR_SEC * max(d->keep_intvl_s, 32767u));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static const int levels[] = { SOL_TCP, SOL_IP, SOL_IPV6, SOL_SOCKET };
	struct input in = { data, len };
	struct kr_opt_defaults d = {
		.keep_idle_s = input_number(&in, 4), .keep_intvl_s = input_number(&in, 4),
		.keep_cnt = input_byte(&in), .fin_timeout_s = input_number(&in, 4),
	};
	struct kr_opts o = { .is_keepalive = input_byte(&in) & 1 };

	while (in.len) {
		int level = levels[input_byte(&in) & 3];
		int name = input_byte(&in);
		enum kr_opt_owner owner = kr_opt_owner(level, name);

		check((owner == KR_OPT_OURS) == is_ours(level, name));
		if (owner == KR_OPT_OURS)
			check_set(&o, &d, name, (int)input_number(&in, 4));
		check_apply(&o, &d);
	}
	return 0;
}
