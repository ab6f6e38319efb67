// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Socket options as numbers: see opts.h. */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/tcp.h>
#include "opts.h"

enum { ANY_MIN = -0x7fffffff - 1, ANY_MAX = 0x7fffffff };

/* The integer options of struct kr_opts: where, and the values TCP allows. */
struct int_opt {
	int name;
	u32 offset;
	int min;
	int max;
};

#define INT_OPT(n, field, lo, hi) { n, offsetof(struct kr_opts, field), lo, hi }

static const struct int_opt int_opts[] = {
	INT_OPT(TCP_NODELAY, nodelay, ANY_MIN, ANY_MAX),
	INT_OPT(TCP_CORK, cork, ANY_MIN, ANY_MAX),
	INT_OPT(TCP_QUICKACK, pingpong, ANY_MIN, ANY_MAX),
	INT_OPT(TCP_USER_TIMEOUT, user_timeout_ms, 0, ANY_MAX),
	INT_OPT(TCP_KEEPIDLE, keep_idle_s, 1, KR_KEEP_IDLE_MAX_S),
	INT_OPT(TCP_KEEPINTVL, keep_intvl_s, 1, KR_KEEP_INTVL_MAX_S),
	INT_OPT(TCP_KEEPCNT, keep_cnt, 1, KR_KEEP_CNT_MAX),
	INT_OPT(TCP_LINGER2, linger2_s, ANY_MIN, ANY_MAX),
};

static const struct int_opt *find_int(int name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(int_opts); i++)
		if (int_opts[i].name == name)
			return &int_opts[i];
	return NULL;
}

static enum kr_opt_owner tcp_owner(int name)
{
	switch (name) {
	case TCP_ULP:
	case TCP_FASTOPEN_CONNECT:
		return KR_OPT_FORBIDDEN;
	case TCP_REPAIR:
	case TCP_FASTOPEN:
	case TCP_MD5SIG:
	case TCP_MD5SIG_EXT:
	case TCP_ZEROCOPY_RECEIVE:
		return KR_OPT_NEEDS_TCP;
	}
	return find_int(name) ? KR_OPT_OURS : KR_OPT_INNER;
}

/*
 * The forbidden ones would act on the "socket" of the inner one, which is the outer
 * (kmod/inner.c): they replace its ops by TCP's, or connect it.
 */
enum kr_opt_owner kr_opt_owner(int level, int name)
{
	if (level == IPPROTO_TCP)
		return tcp_owner(name);
	if (level == IPPROTO_IPV6 && name == IPV6_ADDRFORM)
		return KR_OPT_FORBIDDEN;
	if ((level == IPPROTO_IP && name == IP_TRANSPARENT) ||
	    (level == IPPROTO_IPV6 && name == IPV6_TRANSPARENT))
		return KR_OPT_NEEDS_TCP;
	return KR_OPT_INNER;
}

/* In the form that TCP keeps. */
static int normal(int name, int value)
{
	if (name == TCP_NODELAY || name == TCP_CORK)
		return !!value;
	if (name == TCP_QUICKACK)
		return !value;
	if (name == TCP_LINGER2)
		return value < 0 ? -1 : min(value, (int)KR_LINGER2_MAX_S);
	return value;
}

int kr_opts_set(struct kr_opts *o, int name, int value)
{
	const struct int_opt *opt = find_int(name);

	if (!opt || value < opt->min || value > opt->max)
		return -EINVAL;
	*(int *)((char *)o + opt->offset) = normal(name, value);
	return 0;
}

/* A time that was never set reads as what applies. */
int kr_opts_get(const struct kr_opts *o, const struct kr_opt_defaults *d, int name)
{
	const struct int_opt *opt = find_int(name);
	int value = opt ? *(const int *)((const char *)o + opt->offset) : 0;

	if (name == TCP_QUICKACK)
		return !value;
	if (value)
		return value;
	switch (name) {
	case TCP_KEEPIDLE:
		return d->keep_idle_s;
	case TCP_KEEPINTVL:
		return d->keep_intvl_s;
	case TCP_KEEPCNT:
		return d->keep_cnt;
	case TCP_LINGER2:
		return d->fin_timeout_s;
	}
	return 0;
}

/* An interval of 0, which a sysctl may be, would be probes without end. */
static u64 seconds(int set, u32 or_else)
{
	return KR_SEC * max(set ? (u32)set : or_else, 1u);
}

void kr_opts_apply(const struct kr_opts *o, const struct kr_opt_defaults *d,
		   struct kr_vqp_opts *opts)
{
	memset(opts, 0, sizeof(*opts));
	opts->user_timeout_ns = o->user_timeout_ms * KR_MSEC;
	opts->orphan_ns = KR_SEC * (o->linger2_s > 0 ? (u32)o->linger2_s : d->fin_timeout_s);
	if (!o->is_keepalive)
		return;
	opts->keep_idle_ns = seconds(o->keep_idle_s, d->keep_idle_s);
	opts->keep_intvl_ns = seconds(o->keep_intvl_s, d->keep_intvl_s);
	opts->keep_cnt = o->keep_cnt ? (u32)o->keep_cnt : d->keep_cnt;
}
