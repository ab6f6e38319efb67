/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The socket options that krcore itself obeys or remembers: which values a user may
 * set, what a VQP makes of them, what reads back.  All as TCP has it.
 */
#ifndef KRCORE_CORE_OPTS_H
#define KRCORE_CORE_OPTS_H

#include "vqp.h"

enum {
	KR_KEEP_IDLE_MAX_S = 32767,
	KR_KEEP_INTVL_MAX_S = 32767,
	KR_KEEP_CNT_MAX = 127,
	KR_LINGER2_MAX_S = 120,
};

/* As the user set them; 0: not set. */
struct kr_opts {
	int nodelay;
	int cork;
	int pingpong;			/* TCP_QUICKACK of 0 */
	int user_timeout_ms;
	int keep_idle_s;
	int keep_intvl_s;
	int keep_cnt;
	int linger2_s;			/* -1: the orphan time is not asked for */
	bool is_keepalive;		/* SO_KEEPALIVE */
	bool needs_tcp;			/* an option was set that only TCP has */
};

/* What applies where the user set nothing: the namespace's. */
struct kr_opt_defaults {
	u32 keep_idle_s;
	u32 keep_intvl_s;
	u32 keep_cnt;
	u32 fin_timeout_s;
};

enum kr_opt_owner {
	KR_OPT_OURS,			/* kept in struct kr_opts */
	KR_OPT_INNER,			/* the inner TCP socket's, and no more */
	KR_OPT_NEEDS_TCP,		/* serves only a connection that is TCP */
	KR_OPT_FORBIDDEN,		/* would make another socket of the inner one */
};

enum kr_opt_owner kr_opt_owner(int level, int name);

/* The TCP option @name of ours.  0 or -EINVAL, and then nothing was changed. */
int kr_opts_set(struct kr_opts *o, int name, int value);
int kr_opts_get(const struct kr_opts *o, const struct kr_opt_defaults *d, int name);

/* What the VQP shall obey. */
void kr_opts_apply(const struct kr_opts *o, const struct kr_opt_defaults *d,
		   struct kr_vqp_opts *opts);

#endif
